#include "base/interrupt.hpp"

#include "base/deadline.hpp"

namespace wia {
namespace {

constexpr int64_t kAskEvery = 100'000'000;  // ns

thread_local InterruptCheck check_ = nullptr;
thread_local void* context_ = nullptr;
thread_local int64_t asked_ns_ = 0;

}  // namespace

void set_interrupt_check(InterruptCheck check, void* context) {
  check_ = check;
  context_ = context;
}

bool interrupt_check_is_due() { return check_ && now_ns() - asked_ns_ >= kAskEvery; }

bool interrupted() {
  if (!interrupt_check_is_due()) return false;
  asked_ns_ = now_ns();
  return check_(context_);
}

}  // namespace wia
