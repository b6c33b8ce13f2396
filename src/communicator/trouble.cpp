// What ends a wait before its time: a peer that is lost or calls something else, an interruption, a deadline;
// and the words for it.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "communicator/communicator.hpp"

namespace wia {

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
