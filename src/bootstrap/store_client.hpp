// One attempt to reach a store; Store::connect and join_store repeat it, each in its own way.
#pragma once
#include <memory>
#include <string>

#include "bootstrap/store.hpp"

namespace wia {

// Connects, says hello and reads the answer. Codes:
//   unreachable       refused, no route, no such host: perhaps not there yet
//   timeout           no answer until the deadline
//   protocol          something else is there: another program, another job, another secret, another version
//   invalid_argument  this job, and it refuses: other number of ranks, or the rank is taken
// The text is the reason alone, without host and port.
Result<std::unique_ptr<Store>> connect_store_once(const std::string& host, int port,
                                                  const JobIdentity& identity, Deadline deadline);

// Pauses between attempts: short at first, then up to half a second, not in step with other ranks.
class BackOff {
 public:
  void wait(Deadline deadline);

 private:
  int next_ms_ = 10;
};

// Something else may be about to leave (an earlier job on the same port); for how long to hope for that.
constexpr int64_t kForeignPatienceMs = 5'000;

}  // namespace wia
