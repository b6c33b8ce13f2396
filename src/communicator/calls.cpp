// From a call's arguments to a bound operation: choice of algorithm, schedule, lengths, slices.
#include <fmt/core.h>

#include <algorithm>

#include "base/machine.hpp"
#include "communicator/communicator.hpp"
#include "engine/slicing.hpp"

namespace wia {
namespace {

// Offsets of chunks that lie one behind the other.
void fill_offsets(const size_t* counts, const size_t* offsets, int ranks, std::vector<size_t>* copy) {
  copy->resize(static_cast<size_t>(ranks));
  for (size_t r = 0, at = 0; r < copy->size(); at += counts[r++]) (*copy)[r] = offsets ? offsets[r] : at;
}

}  // namespace

Result<Tactic> Communicator::choose(const Call& call, const Turn& turn) {
  const Tactic& forced = forced_[static_cast<int>(call.collective)];
  if (const Algorithm* algorithm = forced.algorithm) {
    if (deterministic_ && reduces(call.collective) && !algorithm->rank_order)
      return Status::error(
          Code::invalid_argument,
          "algorithm {} of {} cannot be deterministic: it does not combine in the order of ranks",
          algorithm->name, name_of(call.collective));
    return forced;
  }
  if (turn.choice) return turn.choice->tactic(turn.candidate);
  return dispatcher_.choose(kind_of(call));
}

Result<const Communicator::CachedSchedule*> Communicator::schedule_for(const Call& call,
                                                                       const Algorithm* algorithm) {
  Shape shape;
  shape.collective = call.collective;
  shape.ranks = size();
  shape.rank = rank_;
  shape.root = has_root(call.collective) ? call.root : 0;
  shape.in_place = in_place(call, rank_, size());
  shape.even = !call.counts;
  shape.units = dispatcher_.group().units;
  const uint64_t key =
      uint64_t{shape.even} << 1 | uint64_t{shape.in_place} | static_cast<uint64_t>(shape.root) << 8;
  for (const auto& cached : schedules_)
    if (cached->key == key && cached->algorithm == algorithm) return cached.get();
  if (!shape.even && !algorithm->uneven)
    return Status::error(Code::unsupported, "algorithm {} of {} needs blocks of equal length",
                         algorithm->name, name_of(call.collective));
  auto built = algorithm->build(shape);
  if (!built) return built.take_status();
  schedules_.push_back(std::make_unique<CachedSchedule>(
      CachedSchedule{key, algorithm, std::make_shared<const Schedule>(std::move(built.value()))}));
  return schedules_.back().get();
}

// Mostly a call is the one before on the same buffers: then it has been checked and bound already, and only
// the sequence number is new.
bool Communicator::is_repeated(const Call& call, const Turn& turn, const Operation& operation) const {
  const Call& last = operation.call;
  return operation.settings == settings_ && turn == operation.turn && call.send == last.send &&
         call.recv == last.recv && call.count == last.count && call.dtype == last.dtype &&
         call.op == last.op && call.root == last.root && call.factor == last.factor && !call.counts &&
         !last.counts;
}

void Communicator::set_buffers(const Call& call, Binding* binding) const {
  binding->input = static_cast<std::byte*>(const_cast<void*>(call.send));
  binding->output = static_cast<std::byte*>(call.recv);
  if (call.collective == Collective::broadcast)
    binding->input = rank_ == call.root ? binding->output : nullptr;
}

// The v-variants: blocks of lengths that the caller gives.
void Communicator::set_given_chunks(const Call& call, Operation* operation) const {
  const auto ranks = static_cast<uint32_t>(size());
  operation->counts.assign(call.counts, call.counts + ranks);
  fill_offsets(call.counts, call.offsets, size(), &operation->offsets);
  const Extents blocks = Extents::given(operation->counts.data(), operation->offsets.data(), ranks);
  const Extents own = Extents::even(call.counts[rank_], 1);
  Binding& b = operation->binding;
  const bool gathers = call.collective == Collective::all_gather || call.collective == Collective::gather;
  b.input_extents = gathers ? own : blocks;
  b.output_extents = gathers || call.collective == Collective::all_to_all ? blocks : own;
  if (!call.recv_counts) return;
  operation->recv_counts.assign(call.recv_counts, call.recv_counts + ranks);
  fill_offsets(call.recv_counts, call.recv_offsets, size(), &operation->recv_offsets);
  b.output_extents = Extents::given(operation->recv_counts.data(), operation->recv_offsets.data(), ranks);
}

Status Communicator::bind(const Call& call, const Turn& turn, Operation* operation) {
  operation->settings = 0;
  const auto ranks = static_cast<uint32_t>(size());
  Binding& b = operation->binding;
  b = {};
  if (reduces(call.collective)) {
    auto reducer = reducer_for(call);
    if (!reducer) return reducer.take_status();
    b.reducer = reducer.value();
  }
  auto tactic = choose(call, turn);
  if (!tactic) return tactic.take_status();
  auto cached = schedule_for(call, tactic->algorithm);
  if (!cached) return cached.take_status();
  operation->schedule = cached.value()->schedule;
  const Schedule& schedule = *operation->schedule;

  b.raw_bytes = size_of(call.dtype);
  set_buffers(call, &b);
  if (call.counts)
    set_given_chunks(call, operation);
  else
    set_even_chunks(call.collective, call.count, size(), schedule, &b);
  b.measure();
  b.marks_ends = call.recv_counts != nullptr;
  b.direct_from = kDirectFrom;
  // What all ranks of the node read and write together leaves the caches anyway.
  b.streaming = (b.input_bytes + b.output_bytes) * ranks > last_level_cache_bytes() / 4 * 3;
  b.rails = tactic->nics;
  set_slices(schedule, {size(), tactic->slice_bytes ? tactic->slice_bytes : slice_bytes_, staging_bytes_},
             &b);
  operation->call = call;
  operation->turn = turn;
  operation->settings = settings_;
  operation->signature = sign(call, tactic.value(), size());
  resign(++sequence_, &operation->signature);
  return {};
}

Result<const Reducer*> Communicator::reducer_for(const Call& call) {
  const auto dtype = static_cast<size_t>(call.dtype), op = static_cast<size_t>(call.op);
  if (op > static_cast<size_t>(Op::premul_sum))
    return Status::error(Code::invalid_argument, "op is {}; legal are 0 to {}", op, kNumOps - 1);
  auto& known = reducers_[dtype * (kNumOps + 1) + op];
  if (!known || (call.op == Op::premul_sum && known->factor() != call.factor)) {
    auto made = Reducer::make(call.dtype, call.op, size(), call.factor);
    if (!made) return made.take_status();
    // Operations under way may still use the one before.
    if (known) retired_reducers_.push_back(std::move(known));
    known = std::make_unique<Reducer>(made.value());
  }
  return known.get();
}

}  // namespace wia
