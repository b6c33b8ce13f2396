// Store::connect: attempts until one succeeds, waiting cannot help, or the deadline passes.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/interrupt.hpp"
#include "base/random.hpp"
#include "bootstrap/resolve.hpp"
#include "bootstrap/store_client.hpp"

namespace wia {
namespace {

constexpr int64_t kAttemptMs = 10'000;  // then a new connection: its packets may have been lost

const char* hint(Code code) {
  switch (code) {
    case Code::protocol:
      return "; use another port, or wait for the other program to end";
    case Code::invalid_argument:
      return "";  // the reason says it
    default:
      return "; is rank 0 running, and are host and port right on every rank?";
  }
}

}  // namespace

void BackOff::wait(Deadline deadline) {
  const int jitter = static_cast<int>(random_bits() % 1000) * next_ms_ / 2000;
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(deadline.left_ms(), next_ms_ / 2 + jitter)));
  next_ms_ = std::min(2 * next_ms_, 500);
}

Result<std::unique_ptr<Store>> Store::connect(const std::string& host, int port, const JobIdentity& identity,
                                              Deadline deadline) {
  const int64_t began = now_ns();
  Deadline patience = deadline;
  Status last;
  BackOff back_off;
  for (int attempts = 1;; ++attempts) {
    const Deadline limit = Deadline::after_ms(kAttemptMs).earlier(patience);
    Result<std::unique_ptr<Store>> store = connect_store_once(host, port, identity, limit);
    if (store.ok()) return store;
    // An attempt that the deadline cut short says less than the one before it.
    const bool cut_short = store.status().code() == Code::timeout && !last.ok() && patience.passed();
    if (!cut_short) last = store.take_status();
    if (last.code() == Code::protocol && patience.at_ns() == deadline.at_ns())
      patience = Deadline::after_ms(kForeignPatienceMs).earlier(deadline);
    if (last.code() != Code::protocol) patience = deadline;
    if (interrupted()) last = Status::error(Code::aborted, "interrupted; {}", last.text());
    if (patience.passed() || last.code() == Code::invalid_argument || last.code() == Code::aborted)
      return Status::error(last.code(), "cannot join the store at {}: {} ({} attempt{} in {:.1f} s){}",
                           host_and_port(host, port), last.text(), attempts, attempts == 1 ? "" : "s",
                           static_cast<double>(now_ns() - began) / 1e9, hint(last.code()));
    back_off.wait(patience);
  }
}

}  // namespace wia
