// Running, waiting, and what ends a wait.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>

#include "base/fork.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
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

// --- Trouble --------------------------------------------------------------------------------------

void Communicator::begin_call() {
  call_started_ns_ = 0;  // the clock is read when the wait begins to be long
  lateness_told_ = waiting_reported_ = false;
}

const Operation* Communicator::current_operation() const {
  return inline_running_ ? inline_running_ : active_ ? &active_->operation : nullptr;
}

Status Communicator::interruption() const {
  return Status::error(Code::aborted, "the communicator {} was aborted or destroyed on rank {} during a call",
                       name_, rank_);
}

Status Communicator::interruption_from_outside() const {
  return Status::error(Code::aborted, "rank {} of {} was interrupted in a call", rank_, name_);
}

// What is under way and who is missing, for whoever does not want to wait longer.
std::string Communicator::waiting() {
  std::unique_lock lock = enter();
  if (!failure_.ok()) return failure_.text();
  const Operation* current = current_operation();
  if (!current && moving_.empty()) return {};
  if (!current) return fmt::format("rank {} of {}: {}", rank_, name_, transfers_->describe());
  return fmt::format("rank {} of {} is in {}: {}", rank_, name_, describe(current->signature),
                     who_is_missing(current->signature));
}

// Called about every millisecond of a wait in which nothing moved.
Status Communicator::look_for_trouble() {
  if (!failure_.ok()) return {};
  const Operation* current = current_operation();
  const int64_t now = now_ns();
  if (current && call_started_ns_ == 0) call_started_ns_ = now;
  std::vector<int> partners;
  bool from_any = false;
  for (const Request* request : moving_)
    if (request->transfer.peer == Transfer::kAnyPeer)
      from_any = true;
    else
      partners.push_back(request->transfer.peer);
  auto trouble = endpoint_->check(current != nullptr, partners);
  if (!trouble && from_any) trouble = look_at_senders();
  if (trouble) {
    // What the peer sent before is still good: its trouble may be of a later call.
    if (trouble->kind != Trouble::mismatch) {
      bool moved = !moving_.empty() && progress_transfers();
      if (current) moved |= execution_->advance() != Execution::State::waiting;
      if (moved) return {};
    }
    return explain(*trouble, current);
  }
  const int64_t limit = timeout_ms_.load(std::memory_order_relaxed);
  if (current && limit > 0 && now - call_started_ns_ > limit * 1'000'000) return timed_out(*current);
  for (const Request* request : moving_)
    if (request->deadline.passed(now))
      return Status::error(
          Code::timeout, "rank {} of {}: no end after {:.1f} s: {}; waiting for {}", rank_, name_,
          static_cast<double>(limit) * 1e-3, transfers_->describe(),
          request->transfer.peer == Transfer::kAnyPeer ? "any rank" : rank_text(request->transfer.peer));
  // Over a network a rank hears of its partners' calls only. Who waits long tells all, so that each can name
  // who does not.
  const int64_t report_ms = std::min(late_notice_ms_, limit > 0 ? limit : late_notice_ms_) / 2;
  if (current && !waiting_reported_ && world_->has_network() &&
      now - call_started_ns_ > report_ms * 1'000'000) {
    waiting_reported_ = true;
    world_->report_waiting(wait_name(current->signature), rank_);
  }
  if (current && !lateness_told_ && now - call_started_ns_ > late_notice_ms_ * 1'000'000) {
    lateness_told_ = true;
    log::warning("rank {} of {} has waited {:.0f} s in {}: {}", rank_, name_,
                 static_cast<double>(now - call_started_ns_) * 1e-9, describe(current->signature),
                 who_is_missing(current->signature));
  }
  return {};
}

// For a receive from any rank: one that is dead might have been the sender; those that have left may have
// left the sending to others, but not all of them.
std::optional<Trouble> Communicator::look_at_senders() const {
  std::optional<Trouble> left;
  int here = 0;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    auto trouble = endpoint_->check(false, {&peer, 1});
    if (trouble && trouble->kind != Trouble::left) return trouble;
    if (trouble)
      left = std::move(trouble);
    else
      ++here;
  }
  return here > 0 ? std::nullopt : std::move(left);
}

Status Communicator::explain(const Trouble& trouble, const Operation* current) const {
  const std::string where = current ? describe(current->signature) : transfers_->describe();
  switch (trouble.kind) {
    case Trouble::failed:
      // Whoever timed out first may not know for whom the others wait.
      if (trouble.code == Code::timeout && current)
        return Status::error(trouble.code, "{}; rank {} was in {}: {}", trouble.text, rank_, where,
                             who_is_missing(current->signature));
      return Status(trouble.code, trouble.text);
    case Trouble::mismatch:
      return mismatch(trouble.peer, current->signature, trouble.signature);
    default:
      return Status::error(Code::peer_failed, "{} is lost to {}: {}; rank {} noticed it in {}",
                           rank_text(trouble.peer), name_, trouble.text, rank_, where);
  }
}

Status Communicator::mismatch(int peer, const CallSignature& mine, const CallSignature& theirs) const {
  return Status::error(Code::mismatch, "ranks of {} made different calls: rank {} made {}; rank {} made {}",
                       name_, rank_, describe(mine), peer, describe(theirs));
}

Status Communicator::timed_out(const Operation& current) const {
  return Status::error(Code::timeout,
                       "rank {} of {} waited {:.1f} s in {}: {}; if ranks may be so late, raise the "
                       "timeout (WIA_TIMEOUT, wia_communicator_set_timeout)",
                       rank_, name_, static_cast<double>(now_ns() - call_started_ns_) * 1e-9,
                       describe(current.signature), who_is_missing(current.signature));
}

std::string Communicator::rank_text(int rank) const {
  return fmt::format("rank {} ({})", rank, endpoint_->describe_peer(rank));
}

// Nobody is known to be missing: whom this rank waits for, and where they are.
std::string Communicator::waiting_text() const {
  std::string text;
  for (const int r : execution_->waiting_for()) text += (text.empty() ? "" : ", ") + rank_text(r);
  return fmt::format("waiting for {}; {}", text.empty() ? "its own data to leave" : text,
                     execution_->cursors());
}

std::string Communicator::wait_name(const CallSignature& call) const {
  return fmt::format("{}/{}", name_, call.sequence);
}

std::string Communicator::who_is_missing(const CallSignature& call) const {
  std::string text;
  int told = 0;
  std::vector<int> silent;
  if (world_->has_network()) silent = world_->not_waiting(wait_name(call), members_.size());
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    const CallSignature last = endpoint_->last_call(r);
    if (last.sequence >= call.sequence) continue;
    if (!endpoint_->knows_calls(r) && std::find(silent.begin(), silent.end(), r) == silent.end()) continue;
    if (++told > 8) continue;
    text += fmt::format("{}{} has not entered it{}", text.empty() ? "" : "; ", rank_text(r),
                        last.sequence               ? fmt::format(" (its last was {})", describe(last))
                        : endpoint_->knows_calls(r) ? " (it has made no call yet)"
                                                    : "");
  }
  if (told > 8) text += fmt::format("; and {} more", told - 8);
  if (text.empty()) text = waiting_text();
  return text;
}

}  // namespace wia
