#include <fmt/format.h>

#include <algorithm>

#include "schedule/check.hpp"
#include "schedule/schedule.hpp"

namespace wia {
namespace {

constexpr uint32_t kMaxField = 0xffff;  // of Step's 16-bit fields

}  // namespace

Builder::Builder(const Shape& shape, uint32_t split) : shape_(shape) {
  const auto ranks = static_cast<uint32_t>(shape.ranks);
  const BufferChunks chunks = nominal_chunks(shape.collective, ranks, split);
  schedule_.input_chunks_ = chunks.input;
  schedule_.output_chunks_ = chunks.output;
}

void Builder::send(int lane, int peer, Ref src, int tag, uint32_t chunks, Ref extent) {
  add_message(lane, Kind::send, peer, tag, chunks, extent).src = src;
}

void Builder::recv(int lane, int peer, Ref dst, int tag, uint32_t chunks, Ref extent) {
  add_message(lane, Kind::recv, peer, tag, chunks, extent).dst = dst;
}

void Builder::recv_reduce(int lane, int peer, Ref dst, Ref src, int tag, uint32_t chunks, Ref extent,
                          Format arriving) {
  Step& step = add_message(lane, Kind::recv_reduce, peer, tag, chunks, extent);
  step.dst = dst;
  step.src = src;
  if (arriving == Format::partial) step.flags |= kPartialArrives;
}

void Builder::take(int lane) { lanes_[lane].back().flags |= kTake; }

void Builder::reduce(int lane, Ref dst, std::span<const Ref> sources, Ref extent, uint32_t chunks) {
  if (sources.empty() || sources.size() > kMaxField) {
    fail(fmt::format("a reduce of {} sources, allowed are 1 to {}", sources.size(), kMaxField));
    return;
  }
  Step& step = add_data(lane, Kind::reduce, chunks, extent);
  step.dst = dst;
  step.src = Ref(Buffer::input, static_cast<uint32_t>(schedule_.sources_.size()));
  step.sources = static_cast<uint16_t>(sources.size());
  schedule_.sources_.insert(schedule_.sources_.end(), sources.begin(), sources.end());
}

void Builder::copy(int lane, Ref dst, Ref src, uint32_t chunks, Ref extent) {
  Step& step = add_data(lane, Kind::copy, chunks, extent);
  step.dst = dst;
  step.src = src;
}

uint32_t Builder::position(int lane) const {
  const auto index = static_cast<size_t>(lane);
  return index < lanes_.size() ? static_cast<uint32_t>(lanes_[index].size()) : 0;
}

void Builder::wait(int lane, int other, uint32_t position) {
  if (position == 0) return;
  ensure(std::max(lane, other));
  Wait& pending = pending_wait_[lane];
  if (pending.position > 0 && pending.lane == other) {
    pending.position = std::max(pending.position, position);
    return;
  }
  if (pending.position > 0) add(lane, Kind::nop);
  pending_wait_[lane] = {other, position};
}

uint32_t Builder::allocate_scratch(uint32_t chunks) {
  const uint32_t first = schedule_.scratch_chunks_;
  schedule_.scratch_chunks_ += chunks;
  return first;
}

Result<Schedule> Builder::finish() && {
  flatten();
  WIA_RETURN_IF_ERROR(std::move(error_));
  WIA_RETURN_IF_ERROR(check_schedule(shape_, schedule_));
  mark_views();
  mark_groups();
  summarize();
  return std::move(schedule_);
}

// Takes up the wait that is pending for the lane.
Step& Builder::add(int lane, Kind kind) {
  ensure(lane);
  Step& step = lanes_[lane].emplace_back();
  step.kind = kind;
  Wait& pending = pending_wait_[lane];
  step.wait_lane = static_cast<uint16_t>(pending.lane);
  step.wait_position = pending.position;
  pending = {};
  return step;
}

Step& Builder::add_data(int lane, Kind kind, uint32_t chunks, Ref extent) {
  if (chunks > kMaxField) fail(fmt::format("a step of {} chunks, allowed are {}", chunks, kMaxField));
  Step& step = add(lane, kind);
  step.chunks = static_cast<uint16_t>(chunks);
  step.extent = extent;
  return step;
}

Step& Builder::add_message(int lane, Kind kind, int peer, int tag, uint32_t chunks, Ref extent) {
  if (tag < 0 || tag > static_cast<int>(kMaxField))
    fail(fmt::format("tag {} is not in 0..{}: too many ranks or chunks", tag, kMaxField));
  Step& step = add_data(lane, kind, chunks, extent);
  step.peer = peer;
  step.tag = static_cast<uint16_t>(tag);
  return step;
}

void Builder::ensure(int lane) {
  if (static_cast<size_t>(lane) < lanes_.size()) return;
  if (lane > static_cast<int>(kMaxField)) fail(fmt::format("lane {} is not in 0..{}", lane, kMaxField));
  lanes_.resize(lane + 1);
  pending_wait_.resize(lane + 1);
}

void Builder::fail(std::string text) {
  if (error_.ok()) error_ = Status(Code::invalid_argument, "schedule: " + std::move(text));
}

// Lanes without steps vanish. Nobody waits for one, as there is nothing to wait for; a wait that no step
// follows holds up nothing.
void Builder::flatten() {
  std::vector<uint16_t> number(lanes_.size());
  uint16_t lanes = 0;
  size_t steps = 0;
  for (size_t l = 0; l < lanes_.size(); ++l) {
    number[l] = lanes;
    lanes += !lanes_[l].empty();
    steps += lanes_[l].size();
  }
  schedule_.steps_.reserve(steps);
  schedule_.lane_begin_.reserve(lanes + 1);
  schedule_.lane_begin_.push_back(0);
  for (std::vector<Step>& lane : lanes_) {
    if (lane.empty()) continue;
    for (Step& step : lane) {
      if (step.wait_position == 0) continue;
      if (const size_t have = lanes_[step.wait_lane].size(); have < step.wait_position) {
        fail(fmt::format("a wait for {} steps of lane {}, which has {}", step.wait_position, step.wait_lane,
                         have));
      }
      step.wait_lane = number[step.wait_lane];
    }
    schedule_.steps_.insert(schedule_.steps_.end(), lane.begin(), lane.end());
    schedule_.lane_begin_.push_back(static_cast<uint32_t>(schedule_.steps_.size()));
  }
}

// The maxima, and the peers with whom messages go one way only.
void Builder::summarize() {
  enum : uint8_t { kSentTo = 1, kHeardFrom = 2 };
  std::vector<uint8_t> contact(shape_.ranks, 0);
  for (const Step& step : schedule_.steps_) {
    const bool message = step.peer >= 0;
    if (message) contact[step.peer] |= step.kind == Kind::send ? kSentTo : kHeardFrom;
    if (message)
      schedule_.max_message_chunks_ = std::max<uint32_t>(schedule_.max_message_chunks_, step.chunks);
    const uint32_t sources = step.kind == Kind::recv_reduce ? 2 : step.sources;
    schedule_.max_sources_ = std::max(schedule_.max_sources_, sources);
    schedule_.max_fused_ = std::max<uint32_t>(schedule_.max_fused_, step.fused);
    if (step.fused > 0) schedule_.staged_chunks_ += step.chunks;
    const bool view = step.kind == Kind::recv && (step.flags & kView) != 0;
    schedule_.has_views_ |= view;
    const bool writes = step.kind != Kind::send && step.kind != Kind::nop && step.chunks > 0;
    schedule_.needs_scratch_memory_ |= writes && !view && step.dst.buffer() == Buffer::scratch;
  }
  for (int peer = 0; peer < shape_.ranks; ++peer) {
    if (contact[peer] == kSentTo) schedule_.silent_peers_.push_back(peer);
    if (contact[peer] == kHeardFrom) schedule_.unanswered_peers_.push_back(peer);
  }
}

}  // namespace wia
