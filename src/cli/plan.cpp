// wia plan: prints the schedule of a rank, or a summary for all ranks.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "algorithms/algorithm.hpp"
#include "cli/commands.hpp"
#include "cli/ranks.hpp"
#include "schedule/chains.hpp"

namespace wia::cli {
namespace {

constexpr int kMostLines = 64;  // of the table of ranks

struct Options {
  std::string collective, algorithm;
  int ranks = 0, root = 0;
  std::vector<int> units = {1};  // by level, from the innermost
  std::optional<int> rank;
  bool in_place = false;
};

Shape shape_of(const Options& options, Collective collective, int rank) {
  Shape shape;
  shape.collective = collective;
  shape.ranks = options.ranks;
  shape.rank = rank;
  shape.root = options.root;
  shape.in_place = options.in_place;
  for (const int units : options.units) {
    auto& unit = shape.units.emplace_back();
    for (int r = 0; r < options.ranks; ++r)
      unit.push_back(static_cast<int>(int64_t{r} * units / options.ranks));
  }
  return shape;
}

Schedule build(const Algorithm& algorithm, const Options& options, int rank) {
  auto built = algorithm.build(shape_of(options, algorithm.collective, rank));
  if (!built) throw std::runtime_error(built.status().text());
  return std::move(*built);
}

struct Totals {
  size_t lanes = 0, steps = 0, sends = 0, receives = 0, chunks_sent = 0, peers = 0;

  explicit Totals(const Schedule& schedule)
      : lanes(static_cast<size_t>(schedule.lanes())), steps(schedule.num_steps()) {
    std::set<int> met;
    for (int l = 0; l < schedule.lanes(); ++l) {
      for (const Step& step : schedule.lane(l)) {
        if (step.peer < 0) continue;
        met.insert(step.peer);
        const bool send = step.kind == Kind::send;
        ++(send ? sends : receives);
        if (send) chunks_sent += step.chunks;
      }
    }
    peers = met.size();
  }
  auto fields() const { return std::array{lanes, steps, sends, receives, chunks_sent, peers}; }
};

void print_row(std::string_view name, const Totals& totals) {
  fmt::print("{:<10}", name);
  for (const size_t field : totals.fields()) fmt::print(" {:>8}", field);
  fmt::print("\n");
}

void print_all(const Algorithm& algorithm, const Options& options) {
  std::vector<Schedule> schedules;
  for (int r = 0; r < options.ranks; ++r) schedules.push_back(build(algorithm, options, r));
  fmt::print("rounds: {}\nchunks: input {}, output {}\n", count_rounds(schedules),
             schedules[0].input_chunks(), schedules[0].output_chunks());
  fmt::print("{:<10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "rank", "lanes", "steps", "sends", "receives",
             "chunks", "peers");
  // Ranks that follow one another with the same numbers share a line.
  int lines = 0;
  for (int first = 0; first < options.ranks;) {
    const Totals totals(schedules[static_cast<size_t>(first)]);
    int last = first;
    while (last + 1 < options.ranks &&
           Totals(schedules[static_cast<size_t>(last + 1)]).fields() == totals.fields())
      ++last;
    if (++lines > kMostLines) {
      fmt::print("... ({} ranks more)\n", options.ranks - first);
      return;
    }
    print_row(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last), totals);
    first = last + 1;
  }
}

void print_one(const Algorithm& algorithm, const Options& options) {
  const Schedule schedule = build(algorithm, options, *options.rank);
  const Totals totals(schedule);
  fmt::print("rank {}: {} lanes, {} steps; chunks: input {}, output {}, scratch {}\n", *options.rank,
             totals.lanes, totals.steps, schedule.input_chunks(), schedule.output_chunks(),
             schedule.scratch_chunks());
  fmt::print("{}", schedule.text());
}

int run(const Options& options) {
  const auto collective = parse_collective(options.collective);
  if (!collective)
    throw CLI::ValidationError("COLLECTIVE", fmt::format("\"{}\" is no collective", options.collective));
  const auto algorithm = find_algorithm(*collective, options.algorithm);
  if (!algorithm) throw CLI::ValidationError("--algorithm", algorithm.status().text());
  const auto check = [&](const char* name, int value, int low, int high) {
    if (value < low || value > high)
      throw CLI::ValidationError(name, fmt::format("{} is not in {}..{}", value, low, high));
  };
  check("--root", options.root, 0, options.ranks - 1);
  if (options.units.size() >= static_cast<size_t>(kMostLevels))
    throw CLI::ValidationError("--nodes", fmt::format("at most {} levels are possible", kMostLevels - 1));
  for (size_t l = 0; l < options.units.size(); ++l) {
    check("--nodes", options.units[l], 1, l == 0 ? options.ranks : options.units[l - 1]);
    if (l > 0 && options.units[l - 1] % options.units[l] != 0)
      throw CLI::ValidationError(
          "--nodes", fmt::format("{} units cannot lie in {}", options.units[l - 1], options.units[l]));
  }
  if (options.rank) check("--rank", *options.rank, 0, options.ranks - 1);

  fmt::print("{} {}: {}\n", name_of(*collective), options.algorithm, algorithm.value()->summary);
  fmt::print("{} ranks on {} node{}", options.ranks, fmt::join(options.units, ", "),
             options.units == std::vector<int>{1} ? "" : "s");
  if (has_root(*collective)) fmt::print(", root {}", options.root);
  fmt::print("{}\n", options.in_place ? ", in place" : "");
  options.rank ? print_one(*algorithm.value(), options) : print_all(*algorithm.value(), options);
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("plan", "Prints the steps of an algorithm");
  auto options = std::make_shared<Options>();
  command->add_option("COLLECTIVE", options->collective, "A collective")->required();
  command->add_option("-n,--ranks", options->ranks, "Number of ranks")
      ->required()
      ->check(CLI::Range(1, kMostRanks));
  command->add_option("--algorithm", options->algorithm, "An algorithm of it")->required();
  command->add_option("--rank", options->rank, "The steps of this rank; without: a summary of all ranks");
  command->add_option("--root", options->root, "The root, of collectives that have one (default 0)");
  command
      ->add_option("--nodes", options->units,
                   "Nodes that the ranks are spread over, in order (default 1);\n"
                   "several levels, from the innermost: 8,4,2 (sockets, nodes, switches)")
      ->delimiter(',')
      ->check(CLI::Range(1, kMostRanks));
  command->add_flag("--in-place", options->in_place, "As for a call whose output is its input");
  command->callback([=, &invocation] { invocation.exit_code = run(*options); });
}

}  // namespace wia::cli
