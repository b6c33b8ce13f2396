// The thread that carries asynchronous operations on while the program computes. One per process; it starts
// with the first asynchronous operation, and sleeps while there is none. Thread safe.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/wait.hpp"

namespace wia {

// Something with operations under way: a communicator.
class Progressible {
 public:
  virtual ~Progressible() = default;
  // Whether there is anything that the thread should carry on.
  virtual bool needs_progress() const = 0;
  // Moves it as far as it goes without waiting, also past trouble when `look` (a good moment to look at peers
  // and deadlines). True if anything moved.
  virtual bool progress_in_background(bool look) = 0;
};

class ProgressThread {
 public:
  static ProgressThread& instance();

  void add(Progressible* item);
  void remove(Progressible* item);  // returns once the thread does not touch it any more
  void notify();                    // there is new work
  void set_wait(const WaitPolicy& policy, Doorbell* bell);

 private:
  ProgressThread() = default;
  void run();

  std::mutex mutex_;  // held while items make progress
  std::condition_variable work_;
  std::vector<Progressible*> items_;
  std::atomic<bool> idle_{false};
  std::atomic<int> visitors_{0};  // add and remove that want the mutex
  bool started_ = false;
  WaitPolicy policy_;
  Doorbell own_bell_;
  Doorbell* bell_ = &own_bell_;
};

}  // namespace wia
