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
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "symbolic_memory.hpp"
#include "symbolic_results.hpp"

namespace wia::symbolic {

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
  using Build = std::function<Result<Schedule>(const Shape&)>;

  Run(const Build& build, const Shape& shape, const Options& options)
      : shape_(shape),
        options_(options),
        random_(options.seed),
        memory_(shape, options.slices),
        ranks_(shape.ranks) {
    for (int rank = 0; rank < shape.ranks; ++rank) {
      Shape own = shape;
      own.rank = rank;
      auto schedule = build(own);
      if (!schedule.ok()) {
        fail(fmt::format("rank {}: {}", rank, schedule.status().text()));
        return;
      }
      ranks_[rank].schedule = std::move(*schedule);
      memory_.prepare(rank, ranks_[rank].schedule);
    }
    prepare_lanes();
  }

  // Empty: all is well.
  std::string error() {
    if (memory_.error().empty()) play();
    if (memory_.error().empty()) {
      Results(memory_, shape_, options_.rank_order).check(options_.slices);
      if (shape_.collective == Collective::barrier && options_.slices == 1) check_barrier();
    }
    return memory_.error();
  }
  const Schedule& schedule(int rank) const { return ranks_[rank].schedule; }

 private:
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
    std::map<std::pair<uint32_t, uint32_t>, View> views;  // by slice and scratch chunk
    std::vector<Channel> channels;                        // to each rank
  };

  void prepare_lanes() {
    int threads = 0;
    for (RankState& state : ranks_) {
      state.channels.resize(shape_.ranks);
      state.lanes.resize(state.schedule.lanes());
      for (Lane& lane : state.lanes) lane.thread = threads++;
    }
    for (RankState& state : ranks_) {
      for (Lane& lane : state.lanes) lane.clock.assign(threads, 0);
    }
  }

  void fail(std::string text) { memory_.fail(std::move(text)); }
  std::string where(int rank, int l, const Lane& lane) const {
    return fmt::format("rank {}, lane {}, step {}, slice {}", rank, l, lane.position, lane.slice);
  }

  // --- Steps

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
    if (receives) join(lane.clock, arrived->second.clock);
    const Accessor by{rank, lane.thread, lane.slice, &lane.clock, where(rank, l, lane)};
    if (receives) {
      receive(step, std::move(arrived->second), by);
      state.arrived.erase(arrived);
    } else if (step.kind == Kind::reduce) {
      reduce(step, by);
    } else if (step.kind == Kind::copy) {
      for (uint32_t c = 0; c < step.chunks; ++c) {
        const Ref extent = step.extent.plus(c);
        memory_.store(step.dst.plus(c), extent, memory_.load(step.src.plus(c), extent, by), by);
      }
    }
    for (uint32_t i = 0; i < sends; ++i) send(first_send[i], !is_send, by);
    const uint32_t done = is_send ? sends : 1 + sends;
    if (lane.slice == 0) lane.after.insert(lane.after.end(), done, lane.clock);
    return done;
  }

  void send(const Step& step, bool fused, const Accessor& by) {
    Message message;
    for (uint32_t c = 0; c < step.chunks; ++c) {
      message.values.push_back(memory_.load(step.src.plus(c), step.extent.plus(c), by));
      if (!(step.flags & kTake))
        message.read_by_receiver.push_back(&memory_.cell(by.rank, by.slice, step.src.plus(c)));
      const bool has_output = !(shape_.collective == Collective::reduce && step.peer != shape_.root);
      if (fused && step.src.buffer() == Buffer::output && has_output) {
        memory_.write(memory_.cell(step.peer, by.slice, step.src.plus(c)), by, " (landing)");
      }
    }
    message.clock = *by.clock;
    Channel& channel = ranks_[by.rank].channels[step.peer];
    message.number = channel.first + channel.taken.size();
    channel.taken.push_back(false);
    const Key key{by.rank, by.slice, step.tag};
    if (!ranks_[step.peer].arrived.emplace(key, std::move(message)).second)
      fail(by.what + ": tag used twice");
  }

  // The receiver reads the sender's memory.
  void consume(int peer, const Message& message, const Accessor& by) {
    for (Cell* c : message.read_by_receiver) memory_.read(*c, by, " (in the sender's memory)");
    Channel& channel = ranks_[peer].channels[by.rank];
    channel.taken[message.number - channel.first] = true;
    for (; !channel.taken.empty() && channel.taken.front(); ++channel.first) channel.taken.pop_front();
  }
  bool has_room(const Channel& channel) const {
    const auto& taken = channel.taken;
    const auto waiting = static_cast<size_t>(std::count(taken.begin(), taken.end(), false));
    return (options_.in_order ? taken.size() : waiting) < options_.capacity;
  }

  void receive(const Step& step, Message message, const Accessor& by) {
    if (message.values.size() != step.chunks) return fail(by.what + ": another number of chunks arrives");
    if (step.kind == Kind::recv && (step.flags & kView)) {
      if (message.values[0].partial != step.dst.partial()) fail(by.what + ": the other format arrives");
      ranks_[by.rank].views[{by.slice, step.dst.chunk()}] = {std::move(message), step.peer};
      return;
    }
    consume(step.peer, message, by);
    for (uint32_t c = 0; c < step.chunks; ++c) {
      Value value = message.values[c];
      const Ref extent = step.extent.plus(c);
      if (value.length != memory_.length_of(by.rank, extent)) fail(by.what + ": another length arrives");
      if (step.kind == Kind::recv_reduce) {
        const bool expected = (step.flags & kPartialArrives) != 0;
        if (value.partial != expected) fail(by.what + ": the other format arrives");
        value = added(value, memory_.load(step.src.plus(c), extent, by));
        value.partial = step.dst.partial();
      }
      memory_.store(step.dst.plus(c), extent, value, by);
    }
  }

  void reduce(const Step& step, const Accessor& by) {
    for (uint32_t c = 0; c < step.chunks; ++c) {
      Value sum;
      for (Ref source : ranks_[by.rank].schedule.sources_of(step)) {
        const Value value = source_value(source.plus(c), step.extent.plus(c), by);
        sum = sum.defined ? added(sum, value) : value;
      }
      sum.partial = step.dst.partial();
      memory_.store(step.dst.plus(c), step.extent.plus(c), sum, by);
    }
  }

  Value source_value(Ref source, Ref extent, const Accessor& by) {
    auto& views = ranks_[by.rank].views;
    const bool in_scratch = source.buffer() == Buffer::scratch;
    const auto view = in_scratch ? views.find({by.slice, source.chunk()}) : views.end();
    if (view == views.end()) return memory_.load(source, extent, by);
    const Value value = view->second.message.values[0];
    if (value.length != memory_.length_of(by.rank, extent)) fail(by.what + ": another length");
    consume(view->second.peer, view->second.message, by);
    views.erase(view);
    return value;
  }

  // --- The whole run: lanes in random order, some of them favoured

  void play() {
    std::vector<std::pair<int, int>> lanes;
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      for (int l = 0; l < ranks_[rank].schedule.lanes(); ++l) lanes.push_back({rank, l});
    }
    std::shuffle(lanes.begin(), lanes.end(), random_);
    for (bool moved = true; moved && memory_.error().empty();) {
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
    while (lane.slice < options_.slices && memory_.error().empty()) {
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
  Memory memory_;
  std::vector<RankState> ranks_;
};

}  // namespace wia::symbolic
