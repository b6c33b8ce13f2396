// Waiting: spin, then yield, then sleep.
//
// A Doorbell lies in memory that others can reach (another process, too). A sleeper says that it sleeps,
// looks once more, and sleeps; whoever has news rings, which is one load of a shared line while nobody
// sleeps. The fence that this handshake needs is paid by the sleeper (membarrier), not by the ringer.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/deadline.hpp"

namespace wia {

struct alignas(64) Doorbell {
  std::atomic<uint32_t> sleepers{0};
  std::atomic<uint32_t> rings{0};

  void ring() {
    if (sleepers.load(std::memory_order_relaxed) != 0) wake();
  }
  void wake();
};

// How long to spin and to yield before sleeping.
struct WaitPolicy {
  int spins = 2000;              // polls with a pause in between
  int64_t yield_ns = 2'000'000;  // then polls with sched_yield, for so long; then sleep
  bool sleep = true;
  int64_t longest_sleep_ns = 20'000'000;  // what nobody rings for is looked for at least so often
  // Called before each sleep: whoever has news from elsewhere than memory must now ring the bell.
  void (*before_sleep)(Doorbell& bell) = nullptr;

  // About 20 us, longer than peers that run stay away; who is not there by then has lost its core to
  // something else, perhaps to this wait. A sleeper is woken at once, while who yields waits for the others'
  // time slices.
  static WaitPolicy spin() { return {.spins = 500, .yield_ns = 0}; }
  static WaitPolicy yield() { return {.spins = 0, .yield_ns = 5'000'000}; }
  static WaitPolicy sleep_soon() { return {.spins = 0, .yield_ns = 0}; }
};

// One wait: pause() between two polls. Reset by constructing anew.
class Waiter {
 public:
  Waiter(const WaitPolicy& policy, Doorbell& bell) : policy_(policy), bell_(bell) {}
  ~Waiter() { stop_sleeping(); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Between two unsuccessful polls. True: a good moment to look for trouble and at the deadline (about every
  // millisecond; at once after a sleep).
  bool pause() {
    if (count_ < policy_.spins) {
      ++count_;
      relax();
      return false;
    }
    return pause_slowly();
  }
  // There was progress: start over with spinning.
  void progress() {
    if (count_ == 0) return;
    count_ = 0;
    yielding_since_ = 0;
    stop_sleeping();
  }

 private:
  static void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  bool pause_slowly();
  void stop_sleeping();

  const WaitPolicy& policy_;
  Doorbell& bell_;
  int count_ = 0;
  int64_t yielding_since_ = 0, last_look_ = 0;
  bool announced_ = false;  // counted in bell_.sleepers
  uint32_t seen_ = 0;
};

}  // namespace wia
