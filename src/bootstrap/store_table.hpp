// The keys and values of a store, and the calls that wait for them. No sockets and no clock of its own: the
// server brings the time.
//
// Not thread safe; the server's thread owns it. A caller is a number that the server chooses; it has at most
// one waiting call. All values together are bounded (kMaxTotal): a set beyond that is refused.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bootstrap/store_protocol.hpp"

namespace wia {

class StoreTable {
 public:
  static constexpr size_t kMaxTotal = size_t{1} << 30;

  // The reply, or nothing: the call waits, and its reply comes out of take_ready(). `now` in nanoseconds.
  std::optional<store_protocol::Reply> handle(store_protocol::Request request, uint64_t caller, int64_t now);

  // Replies of waiting calls that are complete or whose time has passed.
  std::vector<std::pair<uint64_t, store_protocol::Reply>> take_ready(int64_t now);

  // When take_ready() must be called at the latest; int64 max: not by itself.
  int64_t next_timeout() const;

  // The caller is gone; its waiting call with it.
  void forget(uint64_t caller);

 private:
  struct Waiting {
    std::vector<std::string> keys;
    size_t waits_for = 0;  // index of a key without a value; `waiters_` lists the caller there
    int64_t timeout = 0;
  };

  std::optional<size_t> first_missing(const std::vector<std::string>& keys) const;
  store_protocol::Reply values_of(const std::vector<std::string>& keys) const;
  store_protocol::Reply missing_of(const std::vector<std::string>& keys) const;
  store_protocol::Reply put(const std::string& key, std::string value);
  store_protocol::Reply add(const std::string& key, int64_t amount);
  void erase(const std::string& key);
  std::optional<store_protocol::Reply> get_all(store_protocol::Request request, uint64_t caller, int64_t now);
  void wake(const std::string& key);

  std::unordered_map<std::string, std::string> values_;
  size_t total_ = 0;  // bytes of keys and values
  std::unordered_map<uint64_t, Waiting> waiting_;
  std::unordered_map<std::string, std::vector<uint64_t>> waiters_;  // by the key they wait for
  std::set<std::pair<int64_t, uint64_t>> timeouts_;
  std::vector<std::pair<uint64_t, store_protocol::Reply>> ready_;
};

}  // namespace wia
