// From a call's arguments to a bound operation: choice of algorithm, schedule, lengths, slices.
#include <fmt/core.h>

#include <algorithm>

#include "base/machine.hpp"
#include "communicator/communicator.hpp"
#include "dispatch/rules.hpp"

namespace wia {
namespace {

constexpr size_t kSmallestSlice = size_t{16} << 10;
constexpr size_t kLargestWindow = 8;
constexpr size_t kAlignedFrom = 4096;  // chunks of so many bytes begin on a cache line
constexpr size_t kDirectFrom = 4096;   // smaller messages are cheaper to copy than to confirm

// Offsets of chunks that lie one behind the other.
void fill_offsets(const size_t* counts, const size_t* offsets, int ranks, std::vector<size_t>* copy) {
  copy->resize(static_cast<size_t>(ranks));
  for (size_t r = 0, at = 0; r < copy->size(); at += counts[r++]) (*copy)[r] = offsets ? offsets[r] : at;
}

}  // namespace

Result<std::pair<const Algorithm*, std::string>> Communicator::choose(const Call& call) const {
  const Algorithm* algorithm = forced_[static_cast<int>(call.collective)];
  const bool in_order = deterministic_ && reduces(call.collective);
  if (algorithm) {
    if (in_order && !algorithm->rank_order)
      return Status::error(
          Code::invalid_argument,
          "algorithm {} of {} cannot be deterministic: it does not combine in the order of ranks",
          algorithm->name, name_of(call.collective));
    return std::pair(algorithm, std::string("set by the user"));
  }
  const Choice choice = choose_by_rules(call.collective, call_bytes(call, size()), size(), num_nodes_,
                                        !call.counts, deterministic_);
  auto found = find_algorithm(call.collective, choice.algorithm);
  if (!found) return found.take_status();
  return std::pair(found.value(), std::string(choice.reason));
}

Result<const Communicator::CachedSchedule*> Communicator::schedule_for(const Call& call) {
  auto choice = choose(call);
  if (!choice) return choice.take_status();
  const Algorithm* algorithm = choice->first;
  Shape shape;
  shape.collective = call.collective;
  shape.ranks = size();
  shape.rank = rank_;
  shape.root = has_root(call.collective) ? call.root : 0;
  shape.in_place = in_place(call, rank_, size());
  shape.even = !call.counts;
  shape.units = units_;
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
bool Communicator::is_repeated(const Call& call, const Operation& operation) const {
  const Call& last = operation.call;
  return operation.settings == settings_ && call.send == last.send && call.recv == last.recv &&
         call.count == last.count && call.dtype == last.dtype && call.op == last.op &&
         call.root == last.root && call.factor == last.factor && !call.counts && !last.counts;
}

void Communicator::set_buffers(const Call& call, Binding* binding) const {
  binding->input = static_cast<std::byte*>(const_cast<void*>(call.send));
  binding->output = static_cast<std::byte*>(call.recv);
  if (call.collective == Collective::broadcast)
    binding->input = rank_ == call.root ? binding->output : nullptr;
}

Status Communicator::bind(const Call& call, Operation* operation) {
  operation->settings = 0;
  const auto ranks = static_cast<uint32_t>(size());
  Binding& b = operation->binding;
  b = {};
  if (reduces(call.collective)) {
    auto reducer = reducer_for(call);
    if (!reducer) return reducer.take_status();
    b.reducer = reducer.value();
  }
  auto cached = schedule_for(call);
  if (!cached) return cached.take_status();
  operation->schedule = cached.value()->schedule;
  const Schedule& schedule = *operation->schedule;

  b.raw_bytes = size_of(call.dtype);
  set_buffers(call, &b);
  if (call.counts) {
    operation->counts.assign(call.counts, call.counts + ranks);
    fill_offsets(call.counts, call.offsets, size(), &operation->offsets);
  }
  const Extents blocks = call.counts
                             ? Extents::given(operation->counts.data(), operation->offsets.data(), ranks)
                             : Extents::even(call.count * ranks, ranks);
  const Extents own = Extents::even(call.counts ? call.counts[rank_] : call.count, 1);
  const auto split = [&](uint32_t chunks) {
    const size_t chunk_bytes = chunks ? call.count * b.raw_bytes / chunks : 0;
    return Extents::even(call.count, chunks,
                         chunk_bytes >= kAlignedFrom ? std::max<size_t>(64 / b.raw_bytes, 1) : 1);
  };
  switch (call.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::broadcast:
      b.input_extents = b.output_extents = split(schedule.output_chunks());
      break;
    case Collective::all_gather:
    case Collective::gather:
      b.input_extents = own, b.output_extents = blocks;
      break;
    case Collective::reduce_scatter:
    case Collective::scatter:
      b.input_extents = blocks, b.output_extents = own;
      break;
    case Collective::all_to_all:
      b.input_extents = b.output_extents = blocks;
      if (call.recv_counts) {
        operation->recv_counts.assign(call.recv_counts, call.recv_counts + ranks);
        fill_offsets(call.recv_counts, call.recv_offsets, size(), &operation->recv_offsets);
        b.output_extents =
            Extents::given(operation->recv_counts.data(), operation->recv_offsets.data(), ranks);
      }
      break;
    case Collective::barrier:
      break;
  }
  b.measure();
  choose_slices(call, &b, schedule);
  operation->call = call;
  operation->settings = settings_;
  operation->signature = sign(call, *cached.value()->algorithm, size());
  resign(++sequence_, &operation->signature);
  return {};
}

// Slices let the ranks work at the same time: one copies in what another copies out. The length of a slice
// must be the same on all ranks, so it depends on nothing that only this rank knows; the window is this
// rank's own affair.
void Communicator::choose_slices(const Call& call, Binding* binding, const Schedule& schedule) const {
  const uint64_t longest = std::max(binding->input_extents.longest(), binding->output_extents.longest());
  const size_t element = std::max(binding->raw_bytes, binding->partial_bytes());
  const uint32_t chunks = std::max({schedule.input_chunks(), schedule.output_chunks(), 1u});
  // All that one slice stages fits four times, and one message of all chunks fits at all.
  const size_t staging = staging_bytes_;
  const size_t most = std::min({slice_bytes_, staging / 4 / (static_cast<size_t>(size()) + 2) / 64 * 64,
                                staging / 4 / chunks / 64 * 64});
  size_t bytes = most;
  if (!call.recv_counts)
    bytes = std::clamp(longest * element / 4 / 64 * 64, std::min(kSmallestSlice, most), most);
  const uint64_t elements = std::max<uint64_t>(bytes / element, 1);
  binding->marks_ends = call.recv_counts != nullptr;
  const uint64_t all = longest + (binding->marks_ends ? 1 : 0);
  binding->slices = all <= elements ? 1 : static_cast<uint32_t>((all + elements - 1) / elements);
  binding->slice_elements = binding->slices == 1 ? longest : elements;
  // Staging is given back in order: if it could not hold all slices in flight, lanes that are ahead would
  // keep the others from ever sending. Three blocks more: what is lost where the ring wraps.
  const size_t block = binding->slice_elements * element + 64;
  const size_t one = std::max<size_t>(schedule.staged_chunks(), 1) * block,
               spare = 3 * schedule.max_message_chunks() * block;
  const size_t fitting = staging > spare ? (staging - spare) / one : 1;
  binding->window = static_cast<uint32_t>(
      std::clamp<size_t>(fitting, 1, std::min<size_t>(binding->slices, kLargestWindow)));
  binding->direct_from = kDirectFrom;
  // What all ranks of the node read and write together leaves the caches anyway.
  const size_t footprint = (binding->input_bytes + binding->output_bytes) * static_cast<size_t>(size());
  binding->streaming = footprint > last_level_cache_bytes() / 4 * 3;
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
