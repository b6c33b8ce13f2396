// Decides who may use a store: compares a hello with the job's identity, and keeps which client holds which
// rank.
//
// Not thread safe; the server's thread owns it. Changes nothing for whoever is refused.
#pragma once
#include <map>
#include <string>

#include "bootstrap/store.hpp"
#include "bootstrap/store_protocol.hpp"

namespace wia {

class StoreGate {
 public:
  explicit StoreGate(JobIdentity identity) : identity_(std::move(identity)) {}

  // Answer::ok: may enter. A refusal has a text for people, with this side's identity but never a secret.
  store_protocol::Reply check(const store_protocol::Hello& hello) const;
  // A connection of a client that may enter has come or gone.
  void enter(const store_protocol::Hello& hello);
  void leave(const store_protocol::Hello& hello);
  // The client that holds the rank; 0: none.
  uint64_t holder(int rank) const;

 private:
  struct Holder {
    uint64_t client = 0;
    std::string member;
    int connections = 0;
  };

  JobIdentity identity_;
  std::map<int, Holder> holders_;  // by rank
};

// In a time that does not depend on where they differ.
bool equal_secrets(const std::string& a, const std::string& b);

}  // namespace wia
