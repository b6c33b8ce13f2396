#include "base/fork.hpp"

#include <pthread.h>

#include <atomic>

namespace wia {
namespace {

std::atomic<bool> forked_{false};

}  // namespace

void watch_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forked_.store(true, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

bool in_forked_child() { return forked_.load(std::memory_order_relaxed); }

Status forked_status() {
  return Status(Code::forked,
                "libwia was initialized in the parent process and cannot be used after fork(); start the "
                "child with exec or initialize only in it");
}

}  // namespace wia
