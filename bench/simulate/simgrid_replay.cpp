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

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "base/parse.hpp"
#include "simgrid_platform.hpp"
#include "simgrid_ranks.hpp"

namespace wia {
namespace {

struct Options {
  std::string machine, collective, algorithm;
  ReplayedCall call;
  Fabric fabric = Fabric::ideal;
};

[[noreturn]] void refuse(const std::string& text) {
  fmt::print(stderr, "simgrid_replay: {}\n", text);
  std::exit(2);
}

uint64_t positive(const std::string& name, const char* text) {
  const auto value = parse_size(text);
  if (!value || *value == 0 || *value > uint64_t{1} << 40)
    refuse(fmt::format("{} {}: is no number from 1 to 1T", name, text));
  return *value;
}

Options parse(int argc, char** argv) {
  if (argc < 6) refuse("wanted are MACHINE COLLECTIVE ALGORITHM RANKS BYTES");
  Options options{argv[1], argv[2], argv[3], {}, Fabric::ideal};
  options.call.ranks = static_cast<int>(std::min<uint64_t>(positive("RANKS", argv[4]), 1 << 16));
  options.call.bytes = positive("BYTES", argv[5]);
  for (int a = 6; a < argc; a += 2) {
    const std::string name = argv[a], value = a + 1 < argc ? argv[a + 1] : "";
    if (name == "--slices")
      options.call.slices = static_cast<uint32_t>(positive(name, value.c_str()));
    else if (name == "--window")
      options.call.window = static_cast<uint32_t>(positive(name, value.c_str()));
    else if (name == "--fabric" && (value == "ideal" || value == "minimal"))
      options.fabric = value == "ideal" ? Fabric::ideal : Fabric::minimal;
    else
      refuse(fmt::format("{} {}: is unknown", name, value));
  }
  return options;
}

template <typename T>
T take(Result<T> result) {
  if (!result) refuse(result.status().text());
  return std::move(*result);
}

// Starts all ranks on the machine; they run until the last has ended.
void start(const Options& options, const MachineModel& machine, const Algorithm& algorithm,
           ReplayedRanks* ranks) {
  Shape shape;
  shape.collective = options.call.collective;
  shape.ranks = options.call.ranks;
  shape.units.emplace_back();
  for (int r = 0; r < shape.ranks; ++r) shape.units[0].push_back(r / machine.ranks_per_node);
  for (; shape.rank < shape.ranks; ++shape.rank) ranks->add(take(algorithm.build(shape)));
  ranks->start(build_platform(machine, shape.ranks, options.fabric));
  simgrid::s4u::Engine::get_instance()->run();
}

int replay(int argc, char** argv) {
  Options options = parse(argc, argv);
  const auto collective = parse_collective(options.collective);
  if (collective != Collective::all_gather && collective != Collective::reduce_scatter &&
      collective != Collective::all_reduce)
    refuse(options.collective + ": is none of all_gather, reduce_scatter, all_reduce");
  options.call.collective = *collective;
  const MachineModel machine = take(find_machine_model(options.machine));
  const Algorithm* algorithm = take(find_algorithm(*collective, options.algorithm));

  const auto begin = std::chrono::steady_clock::now();
  ReplayedRanks ranks(options.call, machine);
  start(options, machine, *algorithm, &ranks);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  fmt::print(R"({{"collective":"{}","algorithm":"{}","ranks":{},"bytes":{},"slices":{},"time_us":{:.4f},)"
             R"("messages":{},"seconds":{:.3f}}})"
             "\n",
             name_of(*collective), options.algorithm, options.call.ranks, options.call.bytes,
             options.call.slices, simgrid::s4u::Engine::get_clock() * 1e6 + machine.call_us.value.value_or(0),
             ranks.messages(), spent.count());
  return 0;
}

}  // namespace
}  // namespace wia

int main(int argc, char** argv) {
  const simgrid::s4u::Engine engine(&argc, argv);  // takes SimGrid's own options (--cfg=...) out
  wia::configure_simgrid();
  return wia::replay(argc, argv);
}
