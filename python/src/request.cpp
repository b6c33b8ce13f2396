#include "request.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "errors.hpp"
#include "waiting.hpp"

namespace nb = nanobind;

namespace wia_python {
namespace {

struct Orphan {
  wia_request_t* request;
  PyObject* keep;
};
// With the GIL held. Never destroyed: at the end of the process the library may still use their buffers.
std::vector<Orphan>& orphans() {
  static auto* all = new std::vector<Orphan>;
  return *all;
}

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPiece{100};  // between two looks at signals

}  // namespace

void reap() {
  auto& all = orphans();
  if (all.empty()) return;
  std::vector<PyObject*> dropped;
  std::erase_if(all, [&](const Orphan& orphan) {
    bool done = false;
    wia_request_test(orphan.request, &done);
    if (done) dropped.push_back(orphan.keep);
    return done;
  });
  for (PyObject* keep : dropped) Py_XDECREF(keep);  // may run anything, even this
}

Request::Request(wia_request_t* request, nb::object keep) : request_(request), keep_(std::move(keep)) {
  reap();
}

Request::~Request() {
  if (!request_) return;
  bool is_done = false;
  wia_request_test(request_, &is_done);
  if (!is_done) orphans().push_back({request_, keep_.release().ptr()});
}

void Request::settle(wia_status_t status) {
  if (status == WIA_IN_PROGRESS) return;
  status_ = status;
  if (status < 0) message_ = wia_last_error_message();
  request_ = nullptr;
}

bool Request::outcome() {
  keep_.reset();
  if (status_ < 0) raise(status_, message_);
  return true;
}

int Request::code() const { return status_; }

bool Request::done() {
  {
    const std::lock_guard lock(mutex_);
    if (request_ && !taken_) {
      bool is_done = false;
      const wia_status_t status = wia_request_test(request_, &is_done);
      if (is_done) settle(status);
    }
    if (request_) return false;
  }
  keep_.reset();
  return true;
}

bool Request::test() { return done() && outcome(); }

bool Request::wait(int64_t timeout_ms) {
  bool is_done;
  {
    const Waiting waiting;
    is_done = wait_in_turn(timeout_ms);
  }
  if (!is_done) {
    if (PyErr_Occurred()) throw nb::python_error();
    return false;
  }
  return outcome();
}

// Without the GIL. False: the time has passed, or a signal's handler has raised.
bool Request::wait_in_turn(int64_t timeout_ms) {
  const auto end =
      Clock::now() + std::chrono::milliseconds(std::clamp<int64_t>(timeout_ms, 0, 1'000'000'000'000));
  std::unique_lock lock(mutex_);
  const bool is_main = PyThread_get_thread_ident() == main_thread;
  while (request_ && taken_) {
    const auto left = end - Clock::now();
    if (timeout_ms >= 0 && left <= Clock::duration::zero()) return false;
    turn_.wait_for(lock, timeout_ms < 0 ? Clock::duration(kPiece) : std::min<Clock::duration>(kPiece, left));
    if (!is_main || !request_ || !taken_) continue;
    lock.unlock();
    if (signal_raised(nullptr)) return false;
    lock.lock();
  }
  if (!request_) return true;
  taken_ = true;
  lock.unlock();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  const wia_status_t status = wia_request_wait(request_, timeout_ms < 0 ? -1 : std::max<int64_t>(left, 0));
  lock.lock();
  settle(status);
  taken_ = false;
  lock.unlock();
  turn_.notify_all();
  return status != WIA_IN_PROGRESS;
}

}  // namespace wia_python
