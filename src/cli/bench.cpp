// wia bench: times collectives and checks their results.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>

#include "base/machine.hpp"
#include "cli/bench_report.hpp"
#include "cli/commands.hpp"
#include "cli/machine.hpp"
#include "cli/own_ranks.hpp"

namespace wia::cli {
namespace {

using namespace bench;

Config read_config() {
  auto config = Config::from_environment();
  if (!config) throw std::runtime_error(config.status().text());
  return std::move(config.value());
}

Plan plan_for(const Options& options, int ranks) {
  return make_plan(options, ranks, read_config(), memory().available.value_or(UINT64_MAX));
}

uint64_t measure_all(const Options& options, const Plan& plan, wia_communicator_t* world, Meeting& meeting,
                     Report& report) {
  uint64_t wrong = 0;
  try {
    for (size_t i = 0; i < plan.cells.size(); ++i) {
      const Cell& cell = plan.cells[i];
      // "auto" leaves the choice to WIA_ALGORITHM and the library.
      if (cell.algorithm != "auto" && wia_communicator_set_algorithm(world, name_of(cell.kind).c_str(),
                                                                     cell.algorithm.c_str()) != WIA_SUCCESS)
        throw std::runtime_error(wia_last_error_message());
      report.progress(i);
      const Measurement measured = measure(options, cell, world, meeting);
      report.add(cell, measured);
      wrong += measured.wrong;
    }
  } catch (...) {
    meeting.give_up();
    throw;
  }
  return wrong;
}

// As a rank of a job that somebody else has started.
int join(const Options& options, const Launch& found) {
  check_ranks(options.ranks, found);
  const Plan plan = plan_for(options, found.size);
  if (found.rank == 0) check_json_file(options.json);
  wia_communicator_t* world = join_world();
  auto meeting = Meeting::make(world, std::max(options.iterations, kMostIterations));
  Report report(options, plan, *meeting, world);
  report.begin();
  const uint64_t wrong = measure_all(options, plan, world, *meeting, report);
  meeting.reset();
  wia_finalize();
  report.finish();
  return wrong == 0 ? 0 : 1;
}

// Alone: starts ranks of this very command, once nothing is wrong with it.
int start(const Options& options, const std::vector<std::string>& arguments) {
  plan_for(options, options.ranks > 0 ? options.ranks : kRanksWithoutOption);
  check_json_file(options.json);
  return start_own_ranks("wia bench", options.ranks, arguments);
}

int run(const OptionTexts& texts, const std::vector<std::string>& arguments) {
  const Options options = read(texts);
  const Launch found = find_launch();
  return is_alone(found) ? start(options, arguments) : join(options, found);
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("bench", "Times collectives and checks their results");
  auto texts = std::make_shared<OptionTexts>();
  declare(*command, *texts);
  command->callback([=, &invocation] { invocation.exit_code = run(*texts, invocation.arguments); });
}

}  // namespace wia::cli
