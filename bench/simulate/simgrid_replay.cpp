// Replays the schedules of all ranks in SimGrid, an engine of others, over the platform that a machine model
// describes. Prints one line of JSON.
//
//   simgrid_replay MACHINE COLLECTIVE ALGORITHM RANKS BYTES [--slices K] [--window W] [--fabric
//   ideal|minimal]
//
// Each lane of each rank is an actor that takes its steps in order: a send is queued, a receive waits for the
// message, reductions and copies are work of the rank's host. Each rank has two queues, inside the node and
// out of it, each an actor that keeps a few messages on their way at a time, whether their receivers wait for
// them or not. What src/simulate makes of the same schedules is not used: only the figures of the machine are
// common.
#include <fmt/core.h>

#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/parse.hpp"
#include "engine/binding.hpp"
#include "simgrid_platform.hpp"

namespace wia {
namespace {

namespace s4u = simgrid::s4u;
constexpr uint64_t kElement = 4;    // bytes: float32
constexpr size_t kOnTheirWay = 16;  // messages of one queue

struct Options {
  std::string machine, collective, algorithm;
  int ranks = 0;
  uint64_t bytes = 0;
  uint32_t slices = 1, window = 8;
  Fabric fabric = Fabric::ideal;
};

[[noreturn]] void refuse(const std::string& text) {
  fmt::print(stderr, "simgrid_replay: {}\n", text);
  std::exit(2);
}

// Work in nanoseconds, as hosts count it.
double work(uint64_t bytes, const Figure& gigabytes_per_second) {
  return gigabytes_per_second.value ? static_cast<double>(bytes) / *gigabytes_per_second.value : 0;
}
void work_for(double nanoseconds) {
  if (nanoseconds > 0) s4u::this_actor::execute(nanoseconds);
}

// Messages leave in the order in which they were queued.
class Queue {
 public:
  void start(s4u::Host* host) {
    s4u::Actor::create("queue", host, [this] { run(); })->daemonize();
  }
  void push(s4u::Mailbox* to, uint64_t bytes) {
    messages_.emplace_back(to, bytes);
    waiting_->release();
  }

 private:
  void run() {
    static char payload;
    std::deque<s4u::CommPtr> travelling;
    for (;;) {
      waiting_->acquire();
      const auto [to, bytes] = messages_.front();
      messages_.pop_front();
      travelling.push_back(to->put_async(&payload, bytes));
      if (travelling.size() < kOnTheirWay) continue;
      travelling.front()->wait();
      travelling.pop_front();
    }
  }

  std::deque<std::pair<s4u::Mailbox*, uint64_t>> messages_;
  s4u::SemaphorePtr waiting_ = s4u::Semaphore::create(0);
};

class Replay {
 public:
  Replay(const Options& options, const MachineModel& machine, Collective collective)
      : options_(options), machine_(machine) {
    const uint64_t count = options.bytes / kElement;
    const auto ranks = static_cast<uint32_t>(options.ranks);
    const Extents blocks = Extents::even(count, ranks), own = Extents::even(count / ranks, 1);
    input_ = collective == Collective::all_gather ? own : blocks;
    output_ = collective == Collective::reduce_scatter ? own : blocks;
  }

  // For an algorithm's own split, which is the same on all ranks.
  void add(Schedule schedule, bool splits) {
    if (splits) input_ = output_ = Extents::even(options_.bytes / kElement, schedule.output_chunks());
    const uint64_t longest = std::max(input_.longest(), output_.longest());
    slice_elements_ = std::max<uint64_t>((longest + options_.slices - 1) / options_.slices, 1);
    auto& rank = *ranks_.emplace_back(std::make_unique<Rank>(std::move(schedule)));
    rank.mutex = s4u::Mutex::create();
    rank.moved = s4u::ConditionVariable::create();
    rank.lanes.resize(static_cast<size_t>(rank.schedule.lanes()));
    for (int l = 0; l < rank.schedule.lanes(); ++l)
      for (const Step& step : rank.schedule.lane(l))
        if (step.wait_position > 0) rank.lanes[step.wait_lane].watched = true;
  }

  void start(const std::vector<s4u::Host*>& hosts) {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      for (Queue& queue : ranks_[r]->queues) queue.start(hosts[r]);
      for (int l = 0; l < ranks_[r]->schedule.lanes(); ++l) {
        const auto actor =
            s4u::Actor::create("lane", hosts[r], [this, r, l] { run(static_cast<int>(r), l); });
        // Messages travel at once, whether their receiver waits already or not.
        for (const Step& step : ranks_[r]->schedule.lane(l))
          if (step.kind == Kind::recv || step.kind == Kind::recv_reduce)
            mailbox(step.peer, static_cast<int>(r), step)->set_receiver(actor);
      }
    }
  }
  uint64_t messages() const { return messages_; }

 private:
  struct Lane {
    uint32_t slice = 0, position = 0;
    bool watched = false;  // by another lane
  };
  struct Rank {
    explicit Rank(Schedule s) : schedule(std::move(s)) {}
    Schedule schedule;
    std::vector<Lane> lanes;
    std::array<Queue, 2> queues;  // inside the node; out of it
    s4u::MutexPtr mutex;
    s4u::ConditionVariablePtr moved;
  };

  static s4u::Mailbox* mailbox(int from, int to, const Step& step) {
    return s4u::Mailbox::by_name(fmt::format("{}>{}:{}", from, to, step.tag));
  }

  int node_of(int rank) const { return rank / machine_.ranks_per_node; }

  uint64_t bytes(const Step& step, uint32_t slice) const {
    const Extents& extents = step.extent.buffer() == Buffer::input ? input_ : output_;
    uint64_t elements = 0;
    for (uint32_t c = 0; c < step.chunks; ++c) {
      const uint64_t length = extents.length(step.extent.chunk() + c), begin = slice * slice_elements_;
      elements += begin >= length ? 0 : std::min(slice_elements_, length - begin);
    }
    return elements * kElement;
  }

  template <typename Condition>
  static void wait_until(Rank& rank, const Condition& holds) {
    if (holds()) return;
    const std::unique_lock lock(*rank.mutex);
    while (!holds()) rank.moved->wait(rank.mutex);
  }

  bool may_begin(const Rank& rank, uint32_t slice) const {
    for (const Lane& lane : rank.lanes)
      if (lane.slice + options_.window <= slice) return false;
    return true;
  }

  void run(int r, int l) {
    Rank& rank = *ranks_[static_cast<size_t>(r)];
    Lane& lane = rank.lanes[static_cast<size_t>(l)];
    for (; lane.slice < options_.slices;) {
      wait_until(rank, [&] { return may_begin(rank, lane.slice); });
      for (const Step& step : rank.schedule.lane(l)) {
        const Lane& other = rank.lanes[step.wait_lane];
        wait_until(rank, [&] {
          return other.slice > lane.slice ||
                 (other.slice == lane.slice && other.position >= step.wait_position);
        });
        execute(r, step, lane.slice);
        ++lane.position;
        if (lane.watched) rank.moved->notify_all();
      }
      ++lane.slice;
      lane.position = 0;
      if (lane.watched || options_.slices > options_.window) rank.moved->notify_all();
    }
  }

  void execute(int r, const Step& step, uint32_t slice) {
    const uint64_t size = bytes(step, slice);
    if (size == 0 && slice > 0) return;
    const double overhead = machine_.overhead_us.value.value_or(0) * 1e3;
    switch (step.kind) {
      case Kind::send:
        ++messages_;
        work_for(overhead);
        ranks_[static_cast<size_t>(r)]->queues[node_of(r) != node_of(step.peer)].push(
            mailbox(r, step.peer, step), size);
        break;
      case Kind::recv:
      case Kind::recv_reduce:
        mailbox(step.peer, r, step)->get<char>();
        work_for(overhead + (step.kind == Kind::recv_reduce ? work(size, machine_.reduce_GBps) : 0));
        break;
      case Kind::reduce:
        work_for(work(size, machine_.reduce_GBps));
        break;
      case Kind::copy:
        work_for(work(size, machine_.copy_GBps));
        break;
      case Kind::nop:
        break;
    }
  }

  const Options& options_;
  const MachineModel& machine_;
  Extents input_, output_;
  uint64_t slice_elements_ = 1, messages_ = 0;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

Options parse(int argc, char** argv) {
  if (argc < 6) refuse("wanted are MACHINE COLLECTIVE ALGORITHM RANKS BYTES");
  Options options{argv[1], argv[2], argv[3]};
  const auto positive = [](const char* name, const char* text) {
    const auto value = parse_size(text);
    if (!value || *value == 0) refuse(fmt::format("{} {}: is no positive number", name, text));
    return *value;
  };
  options.ranks = static_cast<int>(positive("RANKS", argv[4]));
  options.bytes = positive("BYTES", argv[5]);
  for (int a = 6; a < argc; a += 2) {
    const std::string name = argv[a];
    if (a + 1 == argc) refuse(name + " has no value");
    if (name == "--slices")
      options.slices = static_cast<uint32_t>(positive("--slices", argv[a + 1]));
    else if (name == "--window")
      options.window = static_cast<uint32_t>(positive("--window", argv[a + 1]));
    else if (name == "--fabric" && !std::strcmp(argv[a + 1], "minimal"))
      options.fabric = Fabric::minimal;
    else if (name != "--fabric" || std::strcmp(argv[a + 1], "ideal") != 0)
      refuse(fmt::format("{} {}: is unknown", name, argv[a + 1]));
  }
  return options;
}

template <typename T>
T take(Result<T> result) {
  if (!result) refuse(result.status().text());
  return std::move(*result);
}

int replay(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const auto collective = parse_collective(options.collective);
  if (collective != Collective::all_gather && collective != Collective::reduce_scatter &&
      collective != Collective::all_reduce)
    refuse(options.collective + ": is none of all_gather, reduce_scatter, all_reduce");
  const MachineModel machine = take(find_machine_model(options.machine));
  const Algorithm* algorithm = take(find_algorithm(*collective, options.algorithm));
  const auto begin = std::chrono::steady_clock::now();
  const auto hosts = build_platform(machine, options.ranks, options.fabric);

  Replay run(options, machine, *collective);
  Shape shape;
  shape.collective = *collective;
  shape.ranks = options.ranks;
  shape.units.emplace_back();
  for (int r = 0; r < options.ranks; ++r) shape.units[0].push_back(r / machine.ranks_per_node);
  for (shape.rank = 0; shape.rank < options.ranks; ++shape.rank)
    run.add(take(algorithm->build(shape)), collective == Collective::all_reduce);
  run.start(hosts);
  s4u::Engine::get_instance()->run();

  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  fmt::print(R"({{"collective":"{}","algorithm":"{}","ranks":{},"bytes":{},"slices":{},"time_us":{:.4f},)"
             R"("messages":{},"seconds":{:.3f}}})"
             "\n",
             options.collective, options.algorithm, options.ranks, options.bytes, options.slices,
             s4u::Engine::get_clock() * 1e6 + machine.call_us.value.value_or(0), run.messages(),
             spent.count());
  return 0;
}

}  // namespace
}  // namespace wia

int main(int argc, char** argv) {
  const simgrid::s4u::Engine engine(&argc, argv);  // takes SimGrid's own options (--cfg=...) out
  wia::configure_simgrid();
  return wia::replay(argc, argv);
}
