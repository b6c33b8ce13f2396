// Runs the schedules of all ranks on symbols instead of data, and says what is wrong with them.
//
// A chunk's contents are two numbers: a wrap-around sum of random tokens, which shows whose contributions are
// in it and how often, and a hash of the order of additions, which is equal on all ranks if results are equal
// in every bit. Found are: wrong results, lengths or formats that differ at the two ends of a message,
// deadlocks with channels of a given capacity, and races: accesses to the same memory, one of them a write,
// that nothing puts in order. For that every lane has a vector clock; a message not taken at once is also
// read by its receiver, as by zero copy, and a fused reduction also writes into the receivers' outputs.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
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

struct Options {
  uint32_t slices = 1;
  uint32_t window = 2;
  size_t capacity = 16;   // messages that a channel, of an ordered pair of ranks, holds
  bool in_order = false;  // a message makes room only when all sent before it were taken
  uint64_t seed = 1;
  bool priorities = false;  // lanes have random priorities: some always go first, some come last
  bool rank_order = false;  // results must be added up in the order of ranks
};

class Run {
 public:
  using Build = Result<Schedule> (*)(const Shape&);

  Run(Build build, const Shape& shape, const Options& options)
      : shape_(shape), options_(options), random_(options.seed), ranks_(shape.ranks) {
    for (int rank = 0; rank < shape.ranks && error_.empty(); ++rank) {
      Shape own = shape;
      own.rank = rank;
      auto schedule = build(own);
      if (!schedule.ok()) {
        error_ = fmt::format("rank {}: {}", rank, schedule.status().text());
        return;
      }
      ranks_[rank].schedule = std::move(*schedule);
    }
    prepare();
  }

  // Empty: all is well.
  std::string error() {
    if (error_.empty()) play();
    if (error_.empty()) check_results();
    return error_;
  }
  const Schedule& schedule(int rank) const { return ranks_[rank].schedule; }

 private:
  struct Access {
    int thread = -1;
    uint32_t time = 0;
  };
  struct Cell {
    Value value;
    Access write;
    std::vector<Access> reads;
  };
  using Clock = std::vector<uint32_t>;
  struct Message {
    std::vector<Value> values;
    std::vector<Cell*> read_by_receiver;
    Clock clock;
    uint64_t number = 0;  // in its channel
  };
  // What a rank has sent to another.
  struct Channel {
    uint64_t first = 0;      // number of the oldest message that takes up room
    std::deque<bool> taken;  // from that one on
  };
  using Key = std::tuple<int, uint32_t, int>;  // from, slice, tag
  struct Lane {
    int thread = 0;
    uint32_t slice = 0, position = 0;
    Clock clock;
    std::vector<Clock> after;  // after each step, of slice 0
  };
  struct View {
    Message message;
    int peer;
  };
  struct RankState {
    Schedule schedule;
    std::vector<Lane> lanes;
    std::map<Key, Message> arrived;
    std::vector<std::deque<Cell>> scratch;                // by slice
    std::vector<std::deque<Cell>> input, output;          // by slice; aliased chunks use the other's cell
    std::map<std::pair<uint32_t, uint32_t>, View> views;  // by slice and scratch chunk
    std::vector<Channel> channels;                        // to each rank
  };

  // --- Memory

  uint64_t length_of(int rank, Buffer buffer, uint32_t chunk) const {
    const bool is_input = buffer == Buffer::input;
    if (shape_.even && shape_.collective >= Collective::all_gather &&
        shape_.collective != Collective::broadcast && shape_.collective != Collective::reduce) {
      return 1;
    }
    const auto r = static_cast<uint64_t>(rank);
    switch (shape_.collective) {
      case Collective::all_gather:
      case Collective::gather:
        return mix(is_input ? r : chunk);
      case Collective::reduce_scatter:
      case Collective::scatter:
        return mix(is_input ? chunk : r);
      case Collective::all_to_all:
        return is_input ? mix(mix(r) + chunk) : mix(mix(chunk) + r);
      default:
        return mix(chunk);
    }
  }

  Cell& cell(int rank, uint32_t slice, Ref ref) {
    RankState& state = ranks_[rank];
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
    auto& cells = buffer == Buffer::input    ? state.input
                  : buffer == Buffer::output ? state.output
                                             : state.scratch;
    return cells[slice].at(chunk);
  }

  void prepare() {
    if (!error_.empty()) return;
    int threads = 0;
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      RankState& state = ranks_[rank];
      const auto p = static_cast<uint32_t>(shape_.ranks);
      const BufferChunks chunks = nominal_chunks(shape_.collective, p, state.schedule.input_chunks());
      state.channels.resize(shape_.ranks);
      state.lanes.resize(state.schedule.lanes());
      for (Lane& lane : state.lanes) lane.thread = threads++;
      for (uint32_t slice = 0; slice < options_.slices; ++slice) {
        state.scratch.emplace_back(state.schedule.scratch_chunks());
        state.input.emplace_back(chunks.input);
        state.output.emplace_back(chunks.output);
        const bool has_input = rank == shape_.root || (shape_.collective != Collective::broadcast &&
                                                       shape_.collective != Collective::scatter);
        for (uint32_t c = 0; has_input && c < chunks.input; ++c) {
          const uint64_t t = token(static_cast<uint64_t>(rank), c, slice);
          cell(rank, slice, input(c)).value = {t, mix(t), length_of(rank, Buffer::input, c), false, true};
        }
      }
    }
    for (RankState& state : ranks_) {
      for (Lane& lane : state.lanes) lane.clock.assign(threads, 0);
    }
  }

  // --- Accesses

  bool before(const Access& access, const Clock& now) const {
    return access.thread < 0 || now[access.thread] >= access.time;
  }
  void read(Cell& c, const Lane& lane, const std::string& what) {
    if (options_.slices > 1) return;
    if (!before(c.write, lane.clock)) fail(what + ": read races with a write");
    for (Access& access : c.reads) {
      if (access.thread == lane.thread) {
        access.time = lane.clock[lane.thread];
        return;
      }
    }
    c.reads.push_back({lane.thread, lane.clock[lane.thread]});
  }
  void write(Cell& c, const Lane& lane, const std::string& what) {
    if (options_.slices > 1) return;
    if (!before(c.write, lane.clock)) fail(what + ": write races with a write");
    for (const Access& access : c.reads) {
      if (!before(access, lane.clock)) fail(what + ": write races with a read");
    }
    c.reads.clear();
    c.write = {lane.thread, lane.clock[lane.thread]};
  }

  void fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
  }
  std::string where(int rank, int l, const Lane& lane) const {
    return fmt::format("rank {}, lane {}, step {}, slice {}", rank, l, lane.position, lane.slice);
  }

  Value load(int rank, const Lane& lane, Ref ref, Ref extent, const std::string& what) {
    Cell& c = cell(rank, lane.slice, ref);
    read(c, lane, what);
    if (!c.value.defined) fail(what + ": reads what nobody wrote");
    if (c.value.partial != ref.partial()) fail(what + ": reads the other format");
    if (c.value.length != length_of(rank, extent.buffer(), extent.chunk()))
      fail(what + ": reads another length");
    return c.value;
  }
  void store(int rank, const Lane& lane, Ref ref, Ref extent, Value value, const std::string& what) {
    Cell& c = cell(rank, lane.slice, ref);
    write(c, lane, what);
    const uint64_t length = length_of(rank, extent.buffer(), extent.chunk());
    if (value.length != length) fail(what + ": writes another length");
    if (ref.buffer() != Buffer::scratch && length != length_of(rank, ref.buffer(), ref.chunk())) {
      fail(what + ": does not fit");
    }
    if (value.partial != ref.partial()) fail(what + ": writes the other format");
    c.value = value;
    c.value.defined = true;
  }

  // --- Steps

  static void join(Clock& clock, const Clock& other) {
    for (size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  }

  bool may_begin(const RankState& state, const Lane& lane) const {
    if (lane.position > 0) return true;
    return std::all_of(state.lanes.begin(), state.lanes.end(),
                       [&](const Lane& other) { return other.slice + options_.window > lane.slice; });
  }

  // Steps done; 0: not now.
  uint32_t execute(int rank, int l) {
    RankState& state = ranks_[rank];
    Lane& lane = state.lanes[l];
    const auto steps = state.schedule.lane(l);
    const Step& step = steps[lane.position];
    if (!may_begin(state, lane)) return 0;
    if (step.wait_position > 0) {
      const Lane& other = state.lanes[step.wait_lane];
      if (other.slice < lane.slice || (other.slice == lane.slice && other.position < step.wait_position))
        return 0;
    }
    const bool receives = step.kind == Kind::recv || step.kind == Kind::recv_reduce;
    const auto arrived =
        receives ? state.arrived.find({step.peer, lane.slice, step.tag}) : state.arrived.end();
    if (receives && arrived == state.arrived.end()) return 0;
    const bool is_send = step.kind == Kind::send;
    const uint32_t sends = is_send ? std::max<uint32_t>(step.fused, 1) : step.fused;
    const Step* first_send = is_send ? &step : &step + 1;
    for (uint32_t i = 0; i < sends; ++i) {
      if (!has_room(state.channels[first_send[i].peer])) return 0;
    }

    ++lane.clock[lane.thread];
    if (step.wait_position > 0 && lane.slice == 0) {
      join(lane.clock, state.lanes[step.wait_lane].after[step.wait_position - 1]);
    }
    const std::string what = where(rank, l, lane);
    if (receives) {
      join(lane.clock, arrived->second.clock);
      receive(rank, lane, step, std::move(arrived->second), what);
      state.arrived.erase(arrived);
    } else if (step.kind == Kind::reduce) {
      reduce(rank, lane, step, what);
    } else if (step.kind == Kind::copy) {
      for (uint32_t c = 0; c < step.chunks; ++c) {
        const Value value = load(rank, lane, step.src.plus(c), step.extent.plus(c), what);
        store(rank, lane, step.dst.plus(c), step.extent.plus(c), value, what);
      }
    }
    for (uint32_t i = 0; i < sends; ++i) send(rank, lane, first_send[i], !is_send, what);
    const uint32_t done = is_send ? sends : 1 + sends;
    if (lane.slice == 0) lane.after.insert(lane.after.end(), done, lane.clock);
    return done;
  }

  void send(int rank, Lane& lane, const Step& step, bool fused, const std::string& what) {
    Message message;
    for (uint32_t c = 0; c < step.chunks; ++c) {
      message.values.push_back(load(rank, lane, step.src.plus(c), step.extent.plus(c), what));
      if (!(step.flags & kTake))
        message.read_by_receiver.push_back(&cell(rank, lane.slice, step.src.plus(c)));
      const bool has_output = !(shape_.collective == Collective::reduce && step.peer != shape_.root);
      if (fused && step.src.buffer() == Buffer::output && has_output) {
        write(cell(step.peer, lane.slice, step.src.plus(c)), lane, what + " (landing)");
      }
    }
    message.clock = lane.clock;
    Channel& channel = ranks_[rank].channels[step.peer];
    message.number = channel.first + channel.taken.size();
    channel.taken.push_back(false);
    const Key key{rank, lane.slice, step.tag};
    if (!ranks_[step.peer].arrived.emplace(key, std::move(message)).second) fail(what + ": tag used twice");
  }

  // The receiver reads the sender's memory.
  void consume(int peer, int rank, const Lane& lane, const Message& message, const std::string& what) {
    for (Cell* c : message.read_by_receiver) read(*c, lane, what + " (in the sender's memory)");
    Channel& channel = ranks_[peer].channels[rank];
    channel.taken[message.number - channel.first] = true;
    for (; !channel.taken.empty() && channel.taken.front(); ++channel.first) channel.taken.pop_front();
  }
  bool has_room(const Channel& channel) const {
    const auto& taken = channel.taken;
    const auto waiting = static_cast<size_t>(std::count(taken.begin(), taken.end(), false));
    return (options_.in_order ? taken.size() : waiting) < options_.capacity;
  }

  void receive(int rank, Lane& lane, const Step& step, Message message, const std::string& what) {
    if (message.values.size() != step.chunks) return fail(what + ": another number of chunks arrives");
    if (step.kind == Kind::recv && (step.flags & kView)) {
      if (message.values[0].partial != step.dst.partial()) fail(what + ": the other format arrives");
      ranks_[rank].views[{lane.slice, step.dst.chunk()}] = {std::move(message), step.peer};
      return;
    }
    consume(step.peer, rank, lane, message, what);
    for (uint32_t c = 0; c < step.chunks; ++c) {
      Value value = message.values[c];
      const Ref extent = step.extent.plus(c);
      if (value.length != length_of(rank, extent.buffer(), extent.chunk()))
        fail(what + ": another length arrives");
      if (step.kind == Kind::recv_reduce) {
        if (value.partial != ((step.flags & kPartialArrives) != 0)) fail(what + ": the other format arrives");
        value = added(value, load(rank, lane, step.src.plus(c), extent, what));
        value.partial = step.dst.partial();
      }
      store(rank, lane, step.dst.plus(c), extent, value, what);
    }
  }

  void reduce(int rank, Lane& lane, const Step& step, const std::string& what) {
    auto& views = ranks_[rank].views;
    for (uint32_t c = 0; c < step.chunks; ++c) {
      Value sum;
      for (Ref source : ranks_[rank].schedule.sources_of(step)) {
        const Ref extent = step.extent.plus(c);
        const auto view =
            source.buffer() == Buffer::scratch ? views.find({lane.slice, source.chunk()}) : views.end();
        Value value;
        if (view != views.end()) {
          value = view->second.message.values[0];
          if (value.length != length_of(rank, extent.buffer(), extent.chunk()))
            fail(what + ": another length");
          consume(view->second.peer, rank, lane, view->second.message, what);
          views.erase(view);
        } else {
          value = load(rank, lane, source.plus(c), extent, what);
        }
        sum = sum.defined ? added(sum, value) : value;
      }
      sum.partial = step.dst.partial();
      store(rank, lane, step.dst.plus(c), step.extent.plus(c), sum, what);
    }
  }

  // --- The whole run: lanes in random order, some of them favoured.

  void play() {
    std::vector<std::pair<int, int>> lanes;
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      for (int l = 0; l < ranks_[rank].schedule.lanes(); ++l) lanes.push_back({rank, l});
    }
    std::shuffle(lanes.begin(), lanes.end(), random_);
    for (bool moved = true; moved && error_.empty();) {
      moved = false;
      if (!options_.priorities) std::shuffle(lanes.begin(), lanes.end(), random_);
      const size_t some = options_.seed % 2 ? lanes.size() : std::max<size_t>(1, lanes.size() / 3);
      for (size_t i = 0; i < lanes.size() && !(moved && (options_.priorities || i >= some)); ++i) {
        moved |= advance(lanes[i].first, lanes[i].second);
      }
    }
    for (const auto& [rank, l] : lanes) {
      const Lane& lane = ranks_[rank].lanes[l];
      if (lane.slice < options_.slices) fail("deadlock: " + where(rank, l, lane));
    }
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      if (!ranks_[rank].arrived.empty()) fail(fmt::format("rank {}: messages are left over", rank));
    }
  }

  bool advance(int rank, int l) {
    Lane& lane = ranks_[rank].lanes[l];
    const size_t length = ranks_[rank].schedule.lane(l).size();
    bool moved = false;
    while (lane.slice < options_.slices && error_.empty()) {
      const uint32_t done = execute(rank, l);
      if (done == 0) break;
      moved = true;
      lane.position += done;
      if (lane.position == length) {
        lane.position = 0;
        ++lane.slice;
      }
    }
    return moved;
  }

  // --- Results

  Value sum_of_all(uint32_t chunk, uint32_t slice) const {
    Value sum;
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      const uint64_t t = token(static_cast<uint64_t>(rank), chunk, slice);
      const Value value{t, mix(t), 0, false, true};
      sum = sum.defined ? added(sum, value) : value;
    }
    return sum;
  }

  void expect(int rank, uint32_t slice, uint32_t chunk, uint64_t expected) {
    const Value& value = cell(rank, slice, output(chunk)).value;
    if (!value.defined || value.partial || value.sum != expected) {
      fail(fmt::format("rank {}: output[{}] of slice {} is wrong", rank, chunk, slice));
    }
  }

  void expect_sum(int rank, uint32_t slice, uint32_t chunk, uint32_t out_chunk) {
    const Value expected = sum_of_all(chunk, slice);
    expect(rank, slice, out_chunk, expected.sum);
    const uint64_t order = cell(rank, slice, output(out_chunk)).value.order;
    if (options_.rank_order && order != expected.order)
      fail(fmt::format("rank {}: another order of additions", rank));
    const auto [first, is_new] = orders_.try_emplace({slice, chunk}, order);
    if (!is_new && first->second != order)
      fail(fmt::format("rank {}: other bits than rank 0, chunk {}", rank, chunk));
  }

  void check_results() {
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      const uint32_t outputs = static_cast<uint32_t>(ranks_[rank].output[0].size());
      const auto own = static_cast<uint32_t>(rank);
      const auto root = static_cast<uint64_t>(shape_.root);
      const bool is_root = rank == shape_.root;
      for (uint32_t s = 0; s < options_.slices; ++s) {
        for (uint32_t c = 0; c < outputs; ++c) {
          switch (shape_.collective) {
            case Collective::all_reduce:
              expect_sum(rank, s, c, c);
              break;
            case Collective::reduce:
              if (is_root) expect_sum(rank, s, c, c);
              break;
            case Collective::reduce_scatter:
              expect_sum(rank, s, own, 0);
              break;
            case Collective::broadcast:
              expect(rank, s, c, token(root, c, s));
              break;
            case Collective::all_gather:
              expect(rank, s, c, token(c, 0, s));
              break;
            case Collective::gather:
              if (is_root) expect(rank, s, c, token(c, 0, s));
              break;
            case Collective::scatter:
              expect(rank, s, 0, token(root, own, s));
              break;
            case Collective::all_to_all:
              expect(rank, s, c, token(c, own, s));
              break;
            case Collective::barrier:
              break;
          }
        }
      }
    }
    if (shape_.collective == Collective::barrier && options_.slices == 1) check_barrier();
  }

  // Every rank's last step knows of every rank's first one.
  void check_barrier() {
    for (const RankState& state : ranks_) {
      Clock last(ranks_[0].lanes.empty() ? 0 : ranks_[0].lanes[0].clock.size(), 0);
      for (const Lane& lane : state.lanes) join(last, lane.clock);
      for (const RankState& other : ranks_) {
        const bool known = std::any_of(other.lanes.begin(), other.lanes.end(),
                                       [&](const Lane& lane) { return last[lane.thread] > 0; });
        if (!known && shape_.ranks > 1) fail("a rank may leave before another has come");
      }
    }
  }

  const Shape shape_;
  const Options options_;
  std::mt19937_64 random_;
  std::vector<RankState> ranks_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> orders_;
  std::string error_;
};

}  // namespace wia::symbolic
