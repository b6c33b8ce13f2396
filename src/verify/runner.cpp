#include "verify/runner.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "verify/random.hpp"

namespace wia {
namespace {

constexpr uint64_t kSendsAtATime = 32;

}  // namespace

Runner::Runner(int ranks, const LoopOptions& options)
    : group_(ranks, options), states_(static_cast<size_t>(ranks)) {
  for (int r = 0; r < ranks; ++r) executions_.push_back(std::make_unique<Execution>(group_.endpoint(r)));
  bindings_.resize(states_.size());
  shuffled_.resize(states_.size());
  std::iota(shuffled_.begin(), shuffled_.end(), 0);
}

Status Runner::run(std::span<const Schedule> schedules, const CaseData& data, const Variant& variant,
                   bool barrier) {
  schedules_ = schedules;
  data_ = &data;
  random_ = variant.seed;
  ++sequence_;
  running_ = group_.ranks();
  states_.assign(states_.size(), Rank::waiting_to_begin);
  WIA_RETURN_IF_ERROR(variant.order == Order::starve ? run_starving(variant.victim, barrier)
                                                     : run_ordered(variant.order));
  for (int r = 0; r < group_.ranks(); ++r) {
    const size_t left = group_.endpoint(r).undelivered();
    if (left > 0) return Status::error(Code::protocol, "{} messages to rank {} are left over", left, r);
  }
  return {};
}

void Runner::begin(int rank) {
  CallSignature call;
  call.sequence = sequence_;
  call.hash = static_cast<uint32_t>(mix(sequence_));
  Binding& binding = bindings_[static_cast<size_t>(rank)] = data_->binding(rank);
  executions_[static_cast<size_t>(rank)]->start(schedules_[static_cast<size_t>(rank)], binding, call);
  states_[static_cast<size_t>(rank)] = Rank::running;
}

bool Runner::step(int rank) {
  Rank& state = states_[static_cast<size_t>(rank)];
  if (state == Rank::done) return false;
  if (state == Rank::waiting_to_begin) begin(rank);
  switch (executions_[static_cast<size_t>(rank)]->advance()) {
    case Execution::State::moved:
      return true;
    case Execution::State::waiting:
      return false;
    case Execution::State::failed:
      failed_ = rank;
      return false;
    case Execution::State::done:
      state = Rank::done;
      --running_;
      return true;
  }
  return false;
}

bool Runner::pass(Order order) {
  const int ranks = group_.ranks();
  bool moved = false;
  if (order == Order::random) {
    for (size_t i = shuffled_.size(); i > 1; --i)
      std::swap(shuffled_[i - 1], shuffled_[(random_ = mix(random_)) % i]);
    for (const int rank : shuffled_) {
      group_.endpoint(rank).allow(1);
      moved |= step(rank);
    }
    return moved;
  }
  for (int i = 0; i < ranks; ++i) {
    const int rank = order == Order::backward ? ranks - 1 - i : i;
    if (order == Order::even) group_.endpoint(rank).allow_sends(kSendsAtATime);
    moved |= step(rank);
  }
  return moved;
}

bool Runner::settle(Order order) {
  bool moved = false;
  while (running_ > 0 && failed_ < 0 && pass(order)) moved = true;
  return moved;
}

Status Runner::run_ordered(Order order) {
  settle(order);
  // The one message that was allowed may have been one that could not be dealt with yet.
  for (int r = 0; r < group_.ranks(); ++r) {
    group_.endpoint(r).allow(LoopEndpoint::kUnlimited);
    group_.endpoint(r).allow_sends(LoopEndpoint::kUnlimited);
  }
  settle(Order::forward);
  if (failed_ >= 0) return failure();
  return running_ == 0 ? Status() : stuck();
}

Status Runner::run_starving(int victim, bool barrier) {
  Rank& state = states_[static_cast<size_t>(victim)];
  LoopEndpoint& endpoint = group_.endpoint(victim);
  const auto settle_others = [&] {
    const Rank mine = std::exchange(state, Rank::done);
    const bool moved = settle(Order::forward);
    state = mine;
    return moved;
  };
  settle_others();
  if (barrier && running_ < group_.ranks())
    return Status::error(Code::protocol, "a rank left the barrier before rank {} came", victim);
  uint64_t allowed = 1;
  while (running_ > 0 && failed_ < 0) {
    endpoint.allow(allowed);
    bool moved = step(victim);
    moved |= settle_others();
    if (!moved && allowed == LoopEndpoint::kUnlimited) break;
    allowed = moved ? 1 : LoopEndpoint::kUnlimited;
  }
  endpoint.allow(LoopEndpoint::kUnlimited);
  if (failed_ >= 0) return failure();
  return running_ == 0 ? Status() : stuck();
}

Status Runner::failure() const {
  const Execution& execution = *executions_[static_cast<size_t>(failed_)];
  return Status::error(execution.status().code(), "rank {}: {} ({})", failed_, execution.status().text(),
                       execution.cursors());
}

Status Runner::stuck() const {
  std::string text = "deadlock:";
  int shown = 0;
  for (int r = 0; r < group_.ranks(); ++r) {
    if (states_[static_cast<size_t>(r)] == Rank::done) continue;
    if (++shown > 8) {
      text += " ...";
      break;
    }
    const Execution& execution = *executions_[static_cast<size_t>(r)];
    text += fmt::format("\n  rank {} waits for {}: {}", r, fmt::join(execution.waiting_for(), ", "),
                        execution.cursors());
  }
  return Status(Code::protocol, text);
}

}  // namespace wia
