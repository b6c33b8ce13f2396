// Running calls and waiting for them. What ends a wait before its time: trouble.cpp.
#include <sched.h>

#include "base/fork.hpp"
#include "base/interrupt.hpp"
#include "communicator/communicator.hpp"

namespace wia {
namespace {

constexpr int64_t kLookEvery = 1'000'000;  // ns; for trouble

}  // namespace

Status Communicator::collective(const Call& call, Request** request) {
  if (in_forked_child()) return forked_status();
  std::unique_lock lock = enter();
  if (!usable_.load(std::memory_order_relaxed)) return failure_.copy();
  Turn turn;
  WIA_RETURN_IF_ERROR(take_turn(call, lock, &turn));
  const bool at_once = !request && !inline_running_ && !active_ && queue_.empty();
  Operation& operation = inline_operations_[static_cast<int>(call.collective)];
  if (at_once && is_repeated(call, turn, operation)) {
    resign(++sequence_, &operation.signature);
    return run_inline(operation, lock);
  }
  WIA_RETURN_IF_ERROR(check(call, rank_, size()));
  if (at_once) {
    WIA_RETURN_IF_ERROR(bind(call, turn, &operation));
    return run_inline(operation, lock);
  }
  Request* made = new_request();
  made->collective = true;
  if (Status status = bind(call, turn, &made->operation); !status.ok()) {
    lock.unlock();
    free(made);
    return status;
  }
  queue_.push_back(made);
  ++pending_;
  lock.unlock();
  if (!request) return finish(made);
  *request = made;
  wake_progress_thread();
  return {};
}

Status Communicator::transfer(bool sends, void* data, size_t bytes, int peer, int tag, Request** request) {
  if (in_forked_child()) return forked_status();
  const char* whose = sends ? "to" : "from";
  if (peer < 0 || peer >= size())
    return Status::error(Code::invalid_argument, "{} is {}; legal are 0 to {}", whose, peer, size() - 1);
  return start_transfer(sends, data, bytes, peer, tag, nullptr, request);
}

Status Communicator::receive_any(void* data, size_t bytes, int tag, int* from, Request** request) {
  if (in_forked_child()) return forked_status();
  return start_transfer(false, data, bytes, Transfer::kAnyPeer, tag, from, request);
}

Status Communicator::start_transfer(bool sends, void* data, size_t bytes, int peer, int tag, int* from,
                                    Request** request) {
  if (tag < 0) return Status::error(Code::invalid_argument, "tag is {}; legal are 0 and above", tag);
  if (bytes > 0 && !data) return Status::error(Code::invalid_argument, "buffer is NULL with {} bytes", bytes);
  std::unique_lock lock = enter();
  if (!failure_.ok()) return failure_.copy();
  Request* made = new_request();
  made->collective = false;
  made->deadline = Deadline::after_ms(timeout_ms_);
  made->from = from;
  Transfer& t = made->transfer;
  t = {};
  t.sends = sends;
  t.peer = peer;
  t.tag = tag;
  t.data = static_cast<std::byte*>(data);
  t.bytes = bytes;
  moving_.push_back(made);
  ++pending_;
  transfers_->start(t);
  progress();
  lock.unlock();
  if (!request) return finish(made);
  *request = made;
  wake_progress_thread();
  return {};
}

Status Communicator::exchange(const void* send, size_t send_bytes, int to, void* recv, size_t recv_bytes,
                              int from, int tag) {
  Request *receiving = nullptr, *sending = nullptr;
  WIA_RETURN_IF_ERROR(transfer(false, recv, recv_bytes, from, tag, &receiving));
  Status sent = transfer(true, const_cast<void*>(send), send_bytes, to, tag, &sending);
  if (!sent.ok()) {
    std::unique_lock lock(mutex_);
    transfers_->cancel(receiving->transfer);
    std::erase(moving_, receiving);
    complete(*receiving, sent.copy());
    lock.unlock();
    free(receiving);
    return sent;
  }
  Status first = finish(sending);
  Status second = finish(receiving);
  return first.ok() ? std::move(second) : std::move(first);
}

// The lock, also while another thread waits in a blocking call: that one lets visitors in.
std::unique_lock<std::mutex> Communicator::enter() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) return lock;
  ++visitors_;
  lock.lock();
  --visitors_;
  return lock;
}

// A blocking call: the caller runs the schedule itself and holds the lock, but for moments in which it waits
// and others want to come in. They start what they came for; this call stays the one that is under way.
Status Communicator::run_inline(Operation& operation, std::unique_lock<std::mutex>& lock) {
  inline_running_ = &operation;
  start(operation);
  Waiter waiter(wait_policy_, ShmHeap::existing()->header().doorbell);
  for (;;) {
    const auto state = execution_->advance();
    if (state == Execution::State::done) break;
    Status trouble;
    if (state == Execution::State::failed) {
      trouble = execution_failed(operation);
    } else {
      const bool moved = !moving_.empty() && progress_transfers();
      if (moved || state == Execution::State::moved) {
        waiter.progress();
        continue;
      }
      const bool look = waiter.pause();
      if (visitors_.load(std::memory_order_relaxed) > 0) {
        lock.unlock();
        while (visitors_.load(std::memory_order_relaxed) > 0) sched_yield();
        lock.lock();
      }
      if (look && interrupt_check_is_due()) {
        lock.unlock();
        const bool leave = interrupted();
        lock.lock();
        if (leave && failure_.ok()) trouble = interruption_from_outside();
      }
      if (failure_.ok() && interrupted_.load(std::memory_order_relaxed))
        trouble = interruption();
      else if (look && trouble.ok())
        trouble = look_for_trouble();
    }
    if (!trouble.ok()) {
      inline_running_ = nullptr;
      return fail(std::move(trouble), true);
    }
    if (!failure_.ok()) {
      inline_running_ = nullptr;
      return failure_.copy();
    }
  }
  inline_running_ = nullptr;
  ended(operation);
  return {};
}

void Communicator::start(Operation& operation) {
  begin_call();
  if (operation.turn.choice) operation.started_ns = now_ns();
  execution_->start(*operation.schedule, operation.binding, operation.signature);
}

void Communicator::ended(const Operation& operation) {
  const auto& [choice, candidate] = operation.turn;
  if (choice) choice->took(candidate, static_cast<double>(now_ns() - operation.started_ns) * 1e-3);
}

Status Communicator::execution_failed(const Operation& operation) const {
  const int peer = execution_->mismatched_peer();
  if (peer < 0) return execution_->status().copy();
  return mismatch(peer, operation.signature, endpoint_->last_call(peer));
}

bool Communicator::progress() {
  if (!failure_.ok()) return false;
  bool moved = start_next();
  if (active_) {
    const auto state = execution_->advance();
    moved |= state == Execution::State::moved;
    if (state == Execution::State::failed) {
      static_cast<void>(fail(execution_failed(active_->operation), true));
      return true;
    }
    if (state == Execution::State::done) {
      Request* done = active_;
      active_ = nullptr;
      ended(done->operation);
      complete(*done, {});
      start_next();
      moved = true;
    }
  }
  if (!moving_.empty()) moved |= progress_transfers();
  return moved;
}

bool Communicator::start_next() {
  if (active_ || queue_.empty() || inline_running_) return false;
  active_ = queue_.front();
  queue_.pop_front();
  start(active_->operation);
  return true;
}

bool Communicator::progress_transfers() {
  const bool moved = transfers_->progress();
  for (size_t i = 0; i < moving_.size();) {
    Request* request = moving_[i];
    if (!request->transfer.finished) {
      ++i;
      continue;
    }
    moving_.erase(moving_.begin() + static_cast<std::ptrdiff_t>(i));
    complete(*request, std::move(request->transfer.status));
  }
  return moved;
}

// --- Requests -----------------------------------------------------------------------------------

Request* Communicator::new_request() {
  std::unique_ptr<Request> request;
  if (pool_.empty()) {
    request = std::make_unique<Request>();
  } else {
    request = std::move(pool_.back());
    pool_.pop_back();
  }
  request->communicator = shared_from_this();
  request->status = {};
  request->from = nullptr;
  request->done.store(false, std::memory_order_relaxed);
  return request.release();
}

void Communicator::free(Request* request) {
  const auto keep = std::move(request->communicator);
  const auto lock = keep->enter();  // not to wait for the end of another thread's blocking call
  keep->pool_.emplace_back(request);
}

void Communicator::complete(Request& request, Status status) {
  request.status = std::move(status);
  if (request.from) *request.from = request.transfer.peer;
  --pending_;
  request.done.store(true, std::memory_order_release);
  ShmHeap::existing()->header().doorbell.ring();
}

Status Communicator::test(Request* request) {
  Communicator& self = *request->communicator;
  if (in_forked_child()) return forked_status();
  if (!request->done.load(std::memory_order_acquire) && self.mutex_.try_lock()) {
    std::lock_guard lock(self.mutex_, std::adopt_lock);
    // Whoever tests again and again may leave the thread in the background no moment to look.
    const int64_t now = now_ns();
    if (!self.progress() && now - self.last_look_ns_ > kLookEvery) {
      self.last_look_ns_ = now;
      if (Status trouble = self.look_for_trouble(); !trouble.ok())
        static_cast<void>(self.fail(std::move(trouble), true));
    }
  }
  if (!request->done.load(std::memory_order_acquire)) return Status(Code::in_progress, "");
  Status status = std::move(request->status);
  free(request);
  return status;
}

Status Communicator::wait(Request* request, int64_t timeout_ms) {
  if (in_forked_child()) return forked_status();
  Communicator& self = *request->communicator;
  ++self.waiters_;
  const bool done = self.drive(*request, Deadline::after_ms(timeout_ms));
  --self.waiters_;
  if (self.pending_.load(std::memory_order_relaxed) > 0) self.wake_progress_thread();
  if (!done) return Status(Code::in_progress, "");
  Status status = std::move(request->status);
  free(request);
  return status;
}

// For blocking calls: the caller has no request that could live on.
Status Communicator::finish(Request* request) {
  const auto keep = request->communicator;
  Status status = wait(request, -1);
  if (status.code() != Code::in_progress) return status;
  keep->end(keep->interruption_from_outside(), true);
  return wait(request, -1);
}

bool Communicator::drive(Request& request, Deadline deadline) {
  Waiter waiter(wait_policy_, ShmHeap::existing()->header().doorbell);
  while (!request.done.load(std::memory_order_acquire)) {
    bool moved = false;
    if (mutex_.try_lock()) {
      std::lock_guard lock(mutex_, std::adopt_lock);
      moved = progress();
    }
    if (moved) {
      waiter.progress();
    } else if (waiter.pause()) {
      if (deadline.passed() || interrupted()) return request.done.load(std::memory_order_acquire);
      if (mutex_.try_lock()) {
        std::lock_guard lock(mutex_, std::adopt_lock);
        if (Status trouble = look_for_trouble(); !trouble.ok())
          static_cast<void>(fail(std::move(trouble), true));
      }
    }
  }
  return true;
}

bool Communicator::needs_progress() const {
  return pending_.load(std::memory_order_relaxed) > 0 && waiters_.load(std::memory_order_relaxed) == 0;
}

bool Communicator::progress_in_background(bool look) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const bool moved = progress();
  if (!moved && look)
    if (Status trouble = look_for_trouble(); !trouble.ok()) static_cast<void>(fail(std::move(trouble), true));
  return moved;
}

void Communicator::wake_progress_thread() {
  if (!registered_.load(std::memory_order_acquire) && !registered_.exchange(true))
    ProgressThread::instance().add(this);
  ProgressThread::instance().notify();
}

}  // namespace wia
