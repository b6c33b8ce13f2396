// The memory of all ranks for symbolic.hpp: which chunks are one and the same, how long they are, what is in
// them, and who has read and written them when.
#pragma once
#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "schedule/check.hpp"
#include "schedule/schedule.hpp"

namespace wia::symbolic {

inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
inline uint64_t token(uint64_t rank, uint64_t chunk, uint64_t slice) {
  return mix(mix(mix(rank + 1) + chunk + 1) + slice + 1);
}

struct Value {
  uint64_t sum = 0, order = 0;
  uint64_t length = 0;  // a name for it: equal names, equal lengths
  bool partial = false, defined = false;
};
// Commutative, as all operations are, but not associative.
inline Value added(Value a, const Value& b) {
  a.sum += b.sum;
  a.order = mix(a.order + b.order);
  return a;
}

// Time of a lane: for each lane, how many of its steps are known to be done.
using Clock = std::vector<uint32_t>;
inline void join(Clock& clock, const Clock& other) {
  for (size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

struct Access {
  int thread = -1;
  uint32_t time = 0;
  bool before(const Clock& now) const { return thread < 0 || now[thread] >= time; }
};

struct Cell {
  Value value;
  Access write;
  std::vector<Access> reads;
};

// Who accesses: a lane, at some time, in some slice.
struct Accessor {
  int rank = 0, thread = 0;
  uint32_t slice = 0;
  const Clock* clock = nullptr;
  std::string what;  // for error texts
};

class Memory {
 public:
  Memory(const Shape& shape, uint32_t slices) : shape_(shape), slices_(slices), ranks_(shape.ranks) {}

  // The first mistake; empty: none.
  const std::string& error() const { return error_; }
  void fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
  }

  void prepare(int rank, const Schedule& schedule) {
    const auto p = static_cast<uint32_t>(shape_.ranks);
    const BufferChunks chunks = nominal_chunks(shape_.collective, p, schedule.input_chunks());
    const bool broadcast = shape_.collective == Collective::broadcast;
    const bool has_input = rank == shape_.root || !(broadcast || shape_.collective == Collective::scatter);
    outputs_ = chunks.output;
    for (uint32_t slice = 0; slice < slices_; ++slice) {
      Buffers& buffers = ranks_[rank].emplace_back();
      buffers.scratch.resize(schedule.scratch_chunks());
      buffers.input.resize(chunks.input);
      buffers.output.resize(chunks.output);
      for (uint32_t c = 0; has_input && c < chunks.input; ++c) {
        const uint64_t t = token(static_cast<uint64_t>(rank), c, slice);
        cell(rank, slice, input(c)).value = {t, mix(t), length_of(rank, input(c)), false, true};
      }
    }
  }
  uint32_t outputs() const { return outputs_; }

  Cell& cell(int rank, uint32_t slice, Ref ref) {
    Buffers& buffers = ranks_[rank][slice];
    const auto own = static_cast<uint32_t>(rank);
    const bool root_only = !has_root(shape_.collective) || rank == shape_.root;
    Buffer buffer = ref.buffer();
    uint32_t chunk = ref.chunk();
    if (shape_.collective == Collective::broadcast && buffer == Buffer::output && rank == shape_.root) {
      buffer = Buffer::input;
    } else if (shape_.in_place && root_only && buffer != Buffer::scratch) {
      switch (shape_.collective) {
        case Collective::all_reduce:
        case Collective::reduce:
        case Collective::all_to_all:
          buffer = Buffer::input;
          break;
        case Collective::all_gather:
        case Collective::gather:
          if (buffer == Buffer::input) chunk = own;
          buffer = Buffer::output;
          break;
        case Collective::reduce_scatter:
        case Collective::scatter:
          if (buffer == Buffer::output) chunk = own;
          buffer = Buffer::input;
          break;
        default:
          break;
      }
    }
    auto& cells = buffer == Buffer::input    ? buffers.input
                  : buffer == Buffer::output ? buffers.output
                                             : buffers.scratch;
    return cells.at(chunk);
  }

  uint64_t length_of(int rank, Ref extent) const {
    const bool is_input = extent.buffer() == Buffer::input;
    const auto r = static_cast<uint64_t>(rank);
    const auto chunk = static_cast<uint64_t>(extent.chunk());
    switch (shape_.collective) {
      case Collective::all_reduce:
      case Collective::reduce:
      case Collective::broadcast:
      case Collective::barrier:
        return mix(chunk);
      default:
        break;
    }
    if (shape_.even) return 1;
    switch (shape_.collective) {
      case Collective::all_gather:
      case Collective::gather:
        return mix(is_input ? r : chunk);
      case Collective::reduce_scatter:
      case Collective::scatter:
        return mix(is_input ? chunk : r);
      default:
        return is_input ? mix(mix(r) + chunk) : mix(mix(chunk) + r);
    }
  }

  // Races are looked for in one slice only: slices do not share memory.
  void read(Cell& c, const Accessor& by, const char* how = "") {
    if (slices_ > 1) return;
    if (!c.write.before(*by.clock)) fail(by.what + how + ": read races with a write");
    const uint32_t now = (*by.clock)[by.thread];
    for (Access& access : c.reads) {
      if (access.thread != by.thread) continue;
      access.time = now;
      return;
    }
    c.reads.push_back({by.thread, now});
  }
  void write(Cell& c, const Accessor& by, const char* how = "") {
    if (slices_ > 1) return;
    if (!c.write.before(*by.clock)) fail(by.what + how + ": write races with a write");
    for (const Access& access : c.reads) {
      if (!access.before(*by.clock)) fail(by.what + how + ": write races with a read");
    }
    c.reads.clear();
    c.write = {by.thread, (*by.clock)[by.thread]};
  }

  Value load(Ref ref, Ref extent, const Accessor& by) {
    Cell& c = cell(by.rank, by.slice, ref);
    read(c, by);
    if (!c.value.defined) fail(by.what + ": reads what nobody wrote");
    if (c.value.partial != ref.partial()) fail(by.what + ": reads the other format");
    if (c.value.length != length_of(by.rank, extent)) fail(by.what + ": reads another length");
    return c.value;
  }
  void store(Ref ref, Ref extent, Value value, const Accessor& by) {
    Cell& c = cell(by.rank, by.slice, ref);
    write(c, by);
    const uint64_t length = length_of(by.rank, extent);
    if (value.length != length) fail(by.what + ": writes another length");
    if (ref.buffer() != Buffer::scratch && length != length_of(by.rank, ref))
      fail(by.what + ": does not fit");
    if (value.partial != ref.partial()) fail(by.what + ": writes the other format");
    c.value = value;
    c.value.defined = true;
  }

 private:
  struct Buffers {
    std::deque<Cell> input, output, scratch;  // of chunks that are one and the same, one is used
  };

  const Shape shape_;
  const uint32_t slices_;
  std::vector<std::vector<Buffers>> ranks_;  // by rank and slice
  uint32_t outputs_ = 0;
  std::string error_;
};

}  // namespace wia::symbolic
