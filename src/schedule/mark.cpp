// What finish() marks in a schedule, so that the engine may do several steps at once.
#include <algorithm>
#include <utility>

#include "schedule/schedule.hpp"

namespace wia {
namespace {

// Which steps touch a chunk of scratch. Steps are numbered through all lanes.
struct Use {
  uint32_t writes = 0, reads = 0;
  uint32_t reducer = 0;  // the last reduce that reads it
  bool simple = true;    // touched by recvs and reduces of one chunk only
};

class ScratchUse {
 public:
  explicit ScratchUse(const Schedule& schedule) : uses_(schedule.scratch_chunks()) {
    uint32_t index = 0;
    for (int l = 0; l < schedule.lanes(); ++l) {
      for (const Step& step : schedule.lane(l)) add(schedule, step, index++);
    }
  }
  const Use& operator[](uint32_t chunk) const { return uses_[chunk]; }

 private:
  void add(const Schedule& schedule, const Step& step, uint32_t index) {
    if (step.kind == Kind::reduce) {
      for (Ref source : schedule.sources_of(step)) {
        if (step.chunks > 1) spoil(source, step.chunks);
        if (step.chunks != 1 || source.buffer() != Buffer::scratch) continue;
        Use& use = uses_[source.chunk()];
        ++use.reads;
        use.reducer = index;
      }
    } else if (step.kind == Kind::send || step.kind == Kind::copy || step.kind == Kind::recv_reduce) {
      spoil(step.src, step.chunks);
    }
    if (step.kind == Kind::recv && step.chunks == 1 && step.dst.buffer() == Buffer::scratch) {
      Use& use = uses_[step.dst.chunk()];
      ++use.writes;
    } else if (step.kind != Kind::send && step.kind != Kind::nop) {
      spoil(step.dst, step.chunks);
    }
  }
  void spoil(Ref ref, uint32_t chunks) {
    if (ref.buffer() != Buffer::scratch) return;
    for (uint32_t c = 0; c < chunks; ++c) uses_[ref.chunk() + c].simple = false;
  }

  std::vector<Use> uses_;
};

bool same_data(const Step& a, const Step& b) {
  return a.src == b.src && a.chunks == b.chunks && a.extent == b.extent;
}

bool same_group(const Step& first, const Step& next) {
  return next.kind == Kind::send && next.wait_position == 0 && next.tag == first.tag &&
         next.flags == first.flags && same_data(first, next);
}

// The reduction's result is what the group sends.
bool fuses(const Step& reduction, const Step& send) {
  if (reduction.kind != Kind::reduce && reduction.kind != Kind::recv_reduce) return false;
  return send.wait_position == 0 && reduction.dst == send.src && reduction.chunks == send.chunks &&
         reduction.extent == send.extent;
}

}  // namespace

// Goes through each lane backwards, so that of many candidates for one reduce those nearest to it are taken.
void Builder::mark_views() {
  if (schedule_.scratch_chunks_ == 0) return;
  const ScratchUse use(schedule_);
  std::vector<uint32_t> views_from(schedule_.steps_.size() + 1, 0);  // in steps i.. of the lane
  std::vector<uint32_t> next_recv(shape_.ranks);                     // by peer: its next recv in the lane
  for (int l = 0; l < schedule_.lanes(); ++l) {
    const uint32_t begin = schedule_.lane_begin_[l], end = schedule_.lane_begin_[l + 1];
    std::fill(next_recv.begin(), next_recv.end(), end);
    views_from[end] = 0;
    for (uint32_t i = end; i-- > begin;) {
      Step& step = schedule_.steps_[i];
      views_from[i] = views_from[i + 1];
      if (step.kind != Kind::recv && step.kind != Kind::recv_reduce) continue;
      const uint32_t next_of_peer = std::exchange(next_recv[step.peer], i);
      if (step.kind != Kind::recv || step.chunks != 1 || step.dst.buffer() != Buffer::scratch) continue;
      const Use& chunk = use[step.dst.chunk()];
      const uint32_t reducer = chunk.reducer;
      if (!chunk.simple || chunk.writes != 1 || chunk.reads != 1 || reducer <= i || reducer >= end) continue;
      if (next_of_peer < reducer || views_from[i] - views_from[reducer] >= kMaxViews) continue;
      step.flags |= kView;
      ++views_from[i];
    }
  }
}

void Builder::mark_groups() {
  for (int l = 0; l < schedule_.lanes(); ++l) {
    const uint32_t begin = schedule_.lane_begin_[l], end = schedule_.lane_begin_[l + 1];
    for (uint32_t i = begin; i < end;) {
      Step& first = schedule_.steps_[i];
      if (first.kind != Kind::send) {
        ++i;
        continue;
      }
      uint32_t after = i + 1;
      while (after < end && same_group(first, schedule_.steps_[after])) ++after;
      const auto size = static_cast<uint16_t>(std::min<uint32_t>(after - i, 0xffff));
      Step* before = i > begin ? &schedule_.steps_[i - 1] : nullptr;
      (before && fuses(*before, first) ? *before : first).fused = size;
      i = after;
    }
  }
}

}  // namespace wia
