// wia topology: what is connected to what, and how fast.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>

#include "base/parse.hpp"
#include "cli/commands.hpp"
#include "cli/own_ranks.hpp"
#include "cli/topology_text.hpp"
#include "topology/file.hpp"
#include "wia/wia.h"

namespace wia::cli {
namespace {

constexpr int kMostRanksToStart = 4096;

struct Options {
  int ranks = 0;  // 0: not said
  bool measure = false;
  std::string json, file, max_size, budget;
  uint64_t largest_bytes = 0;  // 0: the default
  int64_t budget_ms = 0;
};

void read_limits(Options& options) {
  if (!options.max_size.empty()) {
    const auto bytes = parse_size(options.max_size);
    if (!bytes || *bytes < 8)
      throw CLI::ValidationError("--max-size",
                                 fmt::format("\"{}\" is no size of 8 or more", options.max_size));
    options.largest_bytes = *bytes;
  }
  if (!options.budget.empty()) {
    const auto ms = parse_seconds(options.budget);
    if (!ms || *ms < 1)
      throw CLI::ValidationError("--budget", fmt::format("\"{}\" is no time, in seconds", options.budget));
    options.budget_ms = *ms;
  }
}

Topology read_file(const std::string& file) {
  auto topology = read_topology(file);
  if (!topology) throw CLI::ValidationError("--file", topology.status().text());
  return std::move(*topology);
}

// To stdout as text, unless JSON goes there.
int show(const Options& options, const Topology& topology) {
  if (options.json != "-") fmt::print("{}{}", tree_text(topology), links_text(topology));
  if (!options.json.empty())
    if (const Status status = write_topology(topology, options.json); !status.ok())
      throw std::runtime_error(status.text());
  if (std::fflush(stdout) != 0) throw std::runtime_error("stdout cannot be written");
  return 0;
}

struct Freed {
  void operator()(wia_topology_t* topology) const { wia_topology_free(topology); }
};

// As the library finds it; `world` null: the devices of this host.
Topology discover(const Options& options, wia_communicator_t* world) {
  wia_topology_options_t how = {};
  how.struct_size = sizeof how;
  how.measure = options.measure;
  how.largest_bytes = options.largest_bytes;
  how.budget_ms = options.budget_ms;
  const bool on_terminal = world && wia_rank(world) == 0 && isatty(STDERR_FILENO) != 0;
  if (on_terminal)
    how.progress = [](int done, int pairs, void*) {
      fmt::print(stderr, "\r\033[K{} of {} pairs", done, pairs);
      std::fflush(stderr);
    };
  const std::unique_ptr<wia_topology_t, Freed> found(wia_discover_topology_with(world, &how));
  if (on_terminal) fmt::print(stderr, "\r\033[K");
  if (!found) throw std::runtime_error(wia_last_error_message());
  auto topology = topology_from_text(wia_topology_json(found.get()), "the topology");
  if (!topology) throw std::runtime_error(topology.status().text());
  return std::move(*topology);
}

// As a rank of a job that somebody else has started.
int join(const Options& options, const Launch& found) {
  check_ranks(options.ranks, found);
  if (found.rank == 0) check_json_file(options.json);
  const Topology topology = discover(options, join_world());
  wia_finalize();
  return found.rank == 0 ? show(options, topology) : 0;
}

int run(Options options, const std::vector<std::string>& arguments) {
  read_limits(options);
  if (!options.file.empty()) {
    if (options.ranks > 0 || options.measure)
      throw CLI::ValidationError("--file", "reads what was found before: not with -n or --measure");
    const Topology topology = read_file(options.file);
    check_json_file(options.json);
    return show(options, topology);
  }
  const Launch found = find_launch();
  if (!is_alone(found)) return join(options, found);
  check_json_file(options.json);
  if (options.ranks > 0 || options.measure) return start_own_ranks("wia topology", options.ranks, arguments);
  return show(options, discover(options, nullptr));
}

}  // namespace

void add_topology(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("topology", "Shows what is connected to what, and how fast");
  auto options = std::make_shared<Options>();
  command
      ->add_option("-n,--ranks", options->ranks, "Number of ranks to start here; without: the host's devices")
      ->check(CLI::Range(1, kMostRanksToStart));
  command->add_flag("--measure", options->measure, "Measures every ordered pair of ranks (2 without -n)");
  command->add_option("--json", options->json, "Also as JSON to this file; -: only JSON, to stdout");
  command->add_option("--file", options->file, "Shows what --json has written instead");
  command->add_option("--max-size", options->max_size, "Largest message that is measured (1G)");
  command->add_option("--budget", options->budget, "Seconds for a pair, about (1)");
  command->footer(
      "Alone it starts the ranks itself; under wia run, mpirun, srun or torchrun each process is a rank.");
  command->callback([=, &invocation] { invocation.exit_code = run(*options, invocation.arguments); });
}

}  // namespace wia::cli
