#include "schedule/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/sort_runs.hpp"

namespace wia {
namespace {

std::string describe(Ref ref, uint32_t chunks) {
  constexpr const char* kNames[] = {"input", "output", "scratch"};
  const char* name = kNames[static_cast<int>(ref.buffer())];
  if (chunks == 1) return fmt::format("{}[{}]", name, ref.chunk());
  return fmt::format("{}[{}..{}]", name, ref.chunk(), ref.chunk() + chunks - 1);
}

// The chunks this rank has memory for.
struct Memory {
  uint32_t input, output, scratch;

  Memory(const Shape& shape, const Schedule& schedule)
      : input(schedule.input_chunks()), output(schedule.output_chunks()), scratch(schedule.scratch_chunks()) {
    if (shape.is_root()) return;
    switch (shape.collective) {
      case Collective::broadcast:
      case Collective::scatter:
        input = 0;
        break;
      case Collective::reduce:
      case Collective::gather:
        output = 0;
        break;
      default:
        break;
    }
  }
  uint32_t of(Buffer buffer) const {
    return buffer == Buffer::input ? input : buffer == Buffer::output ? output : scratch;
  }
};

class Checker {
 public:
  Checker(const Shape& shape, const Schedule& schedule)
      : shape_(shape), schedule_(schedule), memory_(shape, schedule) {}

  Status all() const {
    for (int l = 0; l < schedule_.lanes(); ++l) {
      uint32_t index = 0;
      for (const Step& step : schedule_.lane(l)) {
        if (Status status = check_step(step); !status.ok()) {
          return Status::error(status.code(), "schedule of rank {}, lane {}, step {}: {}", shape_.rank, l,
                               index, status.text());
        }
        ++index;
      }
    }
    WIA_RETURN_IF_ERROR(check_tags());
    return check_waits();
  }

 private:
  static Status wrong(std::string text) { return Status(Code::invalid_argument, std::move(text)); }

  Status check_range(Ref ref, uint32_t chunks, uint32_t have, const char* role) const {
    if (uint64_t{ref.chunk()} + chunks <= have) return {};
    return wrong(fmt::format("{} {} of {} chunks", role, describe(ref, chunks), have));
  }

  Status check_memory(Ref ref, uint32_t chunks, const char* role) const {
    if (ref.partial() && ref.buffer() != Buffer::scratch) {
      return wrong(fmt::format("{} {} holds partial sums, only scratch may", role, describe(ref, chunks)));
    }
    return check_range(ref, chunks, memory_.of(ref.buffer()), role);
  }

  Status check_written(Ref dst, uint32_t chunks) const {
    if (dst.buffer() == Buffer::input) return wrong(fmt::format("writes {}", describe(dst, chunks)));
    return check_memory(dst, chunks, "writes");
  }

  Status check_extent(const Step& step) const {
    if (step.extent.buffer() == Buffer::scratch) return wrong("scratch has no length of its own to refer to");
    const bool is_input = step.extent.buffer() == Buffer::input;
    const uint32_t have = is_input ? schedule_.input_chunks() : schedule_.output_chunks();
    return check_range(step.extent, step.chunks, have, "has the length of");
  }

  Status check_step(const Step& step) const {
    if (step.kind == Kind::nop) return {};
    const bool message = step.kind == Kind::send || step.kind == Kind::recv || step.kind == Kind::recv_reduce;
    if (message && (step.peer < 0 || step.peer >= shape_.ranks || step.peer == shape_.rank)) {
      return wrong(fmt::format("peer {} of {} ranks", step.peer, shape_.ranks));
    }
    if (step.chunks == 0) return {};
    WIA_RETURN_IF_ERROR(check_extent(step));
    if (step.kind == Kind::reduce) {
      for (Ref source : schedule_.sources_of(step))
        WIA_RETURN_IF_ERROR(check_memory(source, step.chunks, "reads"));
    } else if (step.kind != Kind::recv) {
      WIA_RETURN_IF_ERROR(check_memory(step.src, step.chunks, "reads"));
    }
    return step.kind == Kind::send ? Status() : check_written(step.dst, step.chunks);
  }

  // In one direction, messages of a pair of ranks have different tags.
  Status check_tags() const {
    std::vector<uint64_t> sends, receives;
    sends.reserve(schedule_.num_steps());
    receives.reserve(schedule_.num_steps());
    for (int l = 0; l < schedule_.lanes(); ++l) {
      for (const Step& step : schedule_.lane(l)) {
        if (step.peer < 0) continue;
        (step.kind == Kind::send ? sends : receives).push_back(uint64_t(step.peer) << 16 | step.tag);
      }
    }
    WIA_RETURN_IF_ERROR(check_different(sends, "to"));
    return check_different(receives, "from");
  }

  Status check_different(std::vector<uint64_t>& peers_and_tags, const char* direction) const {
    sort_runs(peers_and_tags);
    const auto twice = std::adjacent_find(peers_and_tags.begin(), peers_and_tags.end());
    if (twice == peers_and_tags.end()) return {};
    return wrong(fmt::format("schedule of rank {}: two messages {} rank {} have tag {}", shape_.rank,
                             direction, *twice >> 16, *twice & 0xffff));
  }

  // Runs the lanes with messages that always arrive: who is left then waits for ever.
  Status check_waits() const {
    std::vector<uint32_t> done(schedule_.lanes(), 0);
    for (bool progress = true; progress;) {
      progress = false;
      for (int l = 0; l < schedule_.lanes(); ++l) progress |= advance(l, done);
    }
    for (int l = 0; l < schedule_.lanes(); ++l) {
      const auto lane = schedule_.lane(l);
      if (done[l] == lane.size()) continue;
      const Step& step = lane[done[l]];
      return wrong(fmt::format("schedule of rank {}: lane {}, step {} waits for ever for {} steps of lane {}",
                               shape_.rank, l, done[l], step.wait_position, step.wait_lane));
    }
    return {};
  }

  bool advance(int l, std::vector<uint32_t>& done) const {
    const auto lane = schedule_.lane(l);
    const uint32_t before = done[l];
    while (done[l] < lane.size()) {
      const Step& step = lane[done[l]];
      if (step.wait_position > 0 && done[step.wait_lane] < step.wait_position) break;
      ++done[l];
    }
    return done[l] > before;
  }

  const Shape& shape_;
  const Schedule& schedule_;
  const Memory memory_;
};

}  // namespace

BufferChunks nominal_chunks(Collective collective, uint32_t ranks, uint32_t split) {
  switch (collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::broadcast:
      return {split, split};
    case Collective::all_gather:
    case Collective::gather:
      return {1, ranks};
    case Collective::reduce_scatter:
    case Collective::scatter:
      return {ranks, 1};
    case Collective::all_to_all:
      return {ranks, ranks};
    case Collective::barrier:
      return {0, 0};
  }
  return {0, 0};
}

Status check_schedule(const Shape& shape, const Schedule& schedule) { return Checker(shape, schedule).all(); }

}  // namespace wia
