// Decides who may use a store: compares a hello with the job's identity, and keeps which client holds which
// rank.
//
// Thread safe: the server's thread lets clients in and out, its owner waits for their leaving. Changes
// nothing for whoever is refused.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
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
  // See StoreServer::wait_until_left.
  std::vector<int> wait_until_left(int rank, Deadline deadline);

 private:
  struct Place {
    uint64_t client = 0;  // that holds it; 0: none
    std::string member;
    int connections = 0;
    int entered = 0;  // clients so far, one after the other
  };

  const JobIdentity identity_;
  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::map<int, Place> places_;  // by rank
};

// In a time that does not depend on where they differ.
bool equal_secrets(const std::string& a, const std::string& b);

}  // namespace wia
