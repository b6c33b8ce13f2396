// A small key-value store over TCP through which the ranks of a job meet.
//
// Served by `wia run`, or by rank 0 where the job has another launcher. Keys are strings of at most 4 KiB,
// values bytes, at most 1 MiB. Every connection opens with a hello that carries the job's identity and secret
// (docs/formats/store.md); whoever lacks it is dropped and changes nothing.
//
// Server: one thread, poll-driven; no client, stranger or waiting call holds up another.
// Client: thread safe. A call has a connection to itself while it lasts, so that a waiting get() of one
// thread delays nobody; calls that follow each other share one. In a forked child every call is an error.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "base/status.hpp"

namespace wia {

// What both ends must agree on before a store answers, and who asks.
struct JobIdentity {
  std::string job;     // names the job; may be empty
  std::string secret;  // may be empty
  int world_size = 0;  // 0: not known (then not compared)

  // Only the client's: a rank can be held by one client at a time, a second is refused with the text of the
  // first ("process 12 on host a"). -1: holds none.
  int rank = -1;
  std::string member = {};
};

class StoreServer {
 public:
  // Binds `host` (empty: all addresses) and `port` (0: any free one). Errors name address, port and reason;
  // Code::busy: the port is in use.
  static Result<std::unique_ptr<StoreServer>> start(const std::string& host, int port, JobIdentity identity);
  virtual ~StoreServer() = default;  // stops serving
  virtual int port() const = 0;

  // Waits until no other rank needs this store for the world that the caller's `rank` has left: a rank that
  // has come back since, for its next world, is not waited for. -1: until nobody is there. Gives the ranks
  // that were still there at the deadline.
  virtual std::vector<int> wait_until_left(int rank, Deadline deadline) = 0;
};

class Store {
 public:
  // Tries again until the deadline. The error has host:port, what failed (refused, no route, no such host, no
  // answer, not this protocol, another job: with both sides' identity but never a secret), attempts and time.
  // Does not wait for the deadline where waiting cannot help: at once when this job has another size or the
  // rank is held by another process, after a few seconds (an earlier job may be about to leave) when
  // something else answers there. An empty host is this host. Codes: unreachable, timeout (no answer),
  // protocol (something else answers), invalid_argument (size or rank contradict).
  static Result<std::unique_ptr<Store>> connect(const std::string& host, int port,
                                                const JobIdentity& identity, Deadline deadline);
  virtual ~Store() = default;

  // The deadline (half a minute where none is given) is for the store's answer.
  virtual Status set(std::string_view key, std::string_view value, Deadline deadline) = 0;
  Status set(std::string_view key, std::string_view value) {
    return set(key, value, Deadline::after_ms(30'000));
  }
  // Sets the key if it has no value yet; gives the value that stands.
  virtual Result<std::string> set_if_absent(std::string_view key, std::string_view value) = 0;
  // Waits until the key has a value. Timeout: the error names the key.
  virtual Result<std::string> get(std::string_view key, Deadline deadline) = 0;
  // Waits until all have values; gives them in order. Code::timeout: `missing` (may be null) lists the
  // indices without one.
  virtual Result<std::vector<std::string>> get_all(const std::vector<std::string>& keys, Deadline deadline,
                                                   std::vector<int>* missing) = 0;
  // Adds to a counter (created as 0); gives the sum. Its value, as get() gives it, is the sum in decimal.
  virtual Result<int64_t> add(std::string_view key, int64_t amount) = 0;
  virtual Status erase(std::string_view key) = 0;
};

}  // namespace wia
