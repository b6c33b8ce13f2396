#include "base/wait.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>

namespace wia {
namespace {

constexpr int64_t kLookEvery = 1'000'000;   // ns
constexpr int64_t kBlindSleep = 1'000'000;  // without membarrier a ring may be missed: sleep shortly

// Makes every ringer's store visible before its load of `sleepers`, on the sleeper's account.
bool fence_everyone() {
  static const bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  return registered && syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

// A process's registration must happen before others rely on it.
[[maybe_unused]] const bool registered_at_start = fence_everyone();

}  // namespace

void Doorbell::wake() {
  rings.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&rings), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool Waiter::pause_slowly() {
  const int64_t now = now_ns();
  if (yielding_since_ == 0) yielding_since_ = last_look_ = now;
  if (now - yielding_since_ < policy_.yield_ns || !policy_.sleep) {
    sched_yield();
  } else if (!announced_) {  // say that we sleep; the caller polls once more before we do
    bell_.sleepers.fetch_add(1, std::memory_order_seq_cst);
    seen_ = bell_.rings.load(std::memory_order_acquire);
    announced_ = true;
    fence_everyone();
    if (policy_.before_sleep) policy_.before_sleep(bell_);
  } else {
    static const bool fenced = fence_everyone();
    const int64_t longest =
        fenced ? policy_.longest_sleep_ns : std::min(policy_.longest_sleep_ns, kBlindSleep);
    const timespec limit{0, static_cast<long>(longest)};
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&bell_.rings), FUTEX_WAIT, seen_, &limit, nullptr, 0);
    seen_ = bell_.rings.load(std::memory_order_acquire);
    last_look_ = now;
    if (policy_.before_sleep) policy_.before_sleep(bell_);  // for the next; the caller polls in between
    return true;
  }
  if (now - last_look_ < kLookEvery) return false;
  last_look_ = now;
  return true;
}

void Waiter::stop_sleeping() {
  if (!announced_) return;
  bell_.sleepers.fetch_sub(1, std::memory_order_relaxed);
  announced_ = false;
}

}  // namespace wia
