#include "transport/socket_loop.hpp"

#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

#include "base/signals.hpp"

namespace wia {

Status SocketLoop::start(const char* name) {
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{EPOLLIN, {.ptr = nullptr}};
  if (!epoll_ || !wake_ || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0)
    return Status::error(Code::system, "cannot watch sockets: {}", strerror(errno));
  try {
    const SignalsBlocked blocked;
    std::thread thread([this] { run(); });
    pthread_setname_np(thread.native_handle(), name);
    thread.detach();
  } catch (const std::system_error& error) {
    return Status::error(Code::system, "cannot start a thread: {}", error.what());
  }
  return {};
}

SocketTask* SocketLoop::add(std::unique_ptr<SocketTask> task, uint32_t events) {
  SocketTask* added = task.get();
  tasks_.emplace(added, std::move(task));
  epoll_event event{events, {.ptr = added}};
  if (added->socket()) epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, added->socket().get(), &event);
  wake();
  return added;
}

void SocketLoop::change(SocketTask* task, uint32_t events) {
  epoll_event event{events, {.ptr = task}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, task->socket().get(), &event);
}

void SocketLoop::remove(SocketTask* task) { tasks_.erase(task); }

FileDescriptor SocketLoop::hand_over(SocketTask* task) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, task->socket().get(), nullptr);
  return std::move(task->socket_);
}

void SocketLoop::wake() { eventfd_write(wake_.get(), 1); }

int64_t SocketLoop::first_deadline() const {
  int64_t first = Deadline::never().at_ns();
  for (const auto& [task, owner] : tasks_) first = std::min(first, task->deadline().at_ns());
  return first;
}

void SocketLoop::run() {
  epoll_event events[64];
  std::unique_lock lock(mutex_);
  const auto step = [&](SocketTask* task, auto what) {
    if (!tasks_.contains(task)) return;  // removed by one before
    running_ = task;
    const bool goes_on = what(*task);
    running_ = nullptr;
    if (!goes_on) tasks_.erase(task);
  };
  const auto handle = [&](int count) {
    for (int i = 0; i < count; ++i) {
      eventfd_t ignored;
      if (events[i].data.ptr == nullptr) {
        eventfd_read(wake_.get(), &ignored);
      } else {
        step(static_cast<SocketTask*>(events[i].data.ptr),
             [&](SocketTask& task) { return task.on_ready(events[i].events); });
      }
    }
  };
  for (;;) {
    const int64_t first = first_deadline(), never = Deadline::never().at_ns();
    lock.unlock();
    const int64_t left_ms =
        first == never ? -1 : std::clamp<int64_t>((first - now_ns()) / 1'000'000 + 1, 0, 60'000);
    const int count = epoll_wait(epoll_.get(), events, 64, static_cast<int>(left_ms));
    lock.lock();
    handle(count);
    const int64_t now = now_ns();
    std::vector<SocketTask*> due;
    for (const auto& [task, owner] : tasks_)
      if (task->deadline().passed(now)) due.push_back(task);
    // This thread may have been late itself: what has come by now counts.
    if (!due.empty()) handle(epoll_wait(epoll_.get(), events, 64, 0));
    for (SocketTask* task : due)
      step(task, [now](SocketTask& late) { return !late.deadline().passed(now) || late.on_time(); });
  }
}

}  // namespace wia
