#include "engine/progress_thread.hpp"

#include <pthread.h>

#include <algorithm>

namespace wia {

ProgressThread& ProgressThread::instance() {
  static auto* thread = new ProgressThread;  // never destroyed: it runs until the process ends
  return *thread;
}

void ProgressThread::add(Progressible* item) {
  ++visitors_;
  std::lock_guard lock(mutex_);
  --visitors_;
  if (std::find(items_.begin(), items_.end(), item) == items_.end()) items_.push_back(item);
  if (started_) return;
  started_ = true;
  std::thread thread([this] { run(); });
  pthread_setname_np(thread.native_handle(), "wia-progress");
  thread.detach();
}

void ProgressThread::remove(Progressible* item) {
  ++visitors_;
  std::lock_guard lock(mutex_);
  --visitors_;
  std::erase(items_, item);
}

void ProgressThread::set_wait(const WaitPolicy& policy, Doorbell* bell) {
  ++visitors_;
  std::lock_guard lock(mutex_);
  --visitors_;
  policy_ = policy;
  bell_ = bell;
}

void ProgressThread::notify() {
  if (!idle_.load(std::memory_order_seq_cst)) {
    bell_->ring();
    return;
  }
  { std::lock_guard lock(mutex_); }  // the thread is in its wait, or will look again
  work_.notify_one();
}

void ProgressThread::run() {
  std::unique_lock lock(mutex_);
  const auto any = [this] {
    return std::any_of(items_.begin(), items_.end(), [](const auto* item) { return item->needs_progress(); });
  };
  for (;;) {
    idle_.store(true, std::memory_order_seq_cst);
    work_.wait(lock, any);
    idle_.store(false, std::memory_order_seq_cst);
    Waiter waiter(policy_, *bell_);
    bool look = false;
    while (any()) {
      bool moved = false;
      for (Progressible* item : items_)
        if (item->needs_progress()) moved |= item->progress_in_background(look);
      look = false;
      if (moved) {
        waiter.progress();
        if (visitors_.load(std::memory_order_relaxed) == 0) continue;
      }
      lock.unlock();
      look = waiter.pause();
      lock.lock();
    }
  }
}

}  // namespace wia
