#include "cli/tune_measure.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/parse.hpp"
#include "cli/own_ranks.hpp"
#include "cli/tune_leader.hpp"

namespace wia::cli {
namespace {

constexpr double kPartForCosts = 1.0 / 40;          // of the budget
constexpr double kLongestBudget = 7 * 24 * 3600.0;  // seconds

// "60s", "5m", "90"
double read_budget(const std::string& text) {
  const std::string lower = lower_case(text);
  const bool minutes = lower.ends_with('m'), has_unit = minutes || lower.ends_with('s');
  const auto ms = parse_seconds(std::string_view(lower).substr(0, lower.size() - (has_unit ? 1 : 0)));
  const double seconds = ms ? static_cast<double>(*ms) * 1e-3 * (minutes ? 60 : 1) : 0;
  if (seconds <= 0 || seconds > kLongestBudget)
    throw CLI::ValidationError(
        "--budget", fmt::format("\"{}\" is no time up to a week; times are like 60s, 5m, 90", text));
  return seconds;
}

MeasureOptions read(const MeasureTexts& texts, const std::string& output, const TrainOptions& train) {
  MeasureOptions options;
  options.collectives = tuned_collectives(texts.collectives);
  options.sizes = texts.sizes;
  options.output = output;
  options.budget_s = read_budget(texts.budget);
  options.ranks = texts.ranks;
  options.fresh = texts.fresh;
  options.train = train;
  return options;
}

void check_several(int ranks) {
  if (ranks < 2) throw CLI::ValidationError("-n", fmt::format("{} rank has nothing to choose from", ranks));
}

// As a rank of a job that somebody has started.
int join(const MeasureOptions& options, const Launch& found) {
  check_ranks(options.ranks, found);
  check_several(found.size);
  wia_communicator_t* world = join_world();
  auto meeting = bench::Meeting::make(world, kMostCallsOfLook);
  const JobCosts job = measure_costs(world, options.budget_s * kPartForCosts);
  Looker looker(world, *meeting);
  std::unique_ptr<TuneLeader> leader;
  try {
    if (found.rank == 0) leader = std::make_unique<TuneLeader>(options, world, job, looker);
    leader ? leader->measure() : looker.follow();
  } catch (const CLI::ValidationError&) {
    looker.finish();  // the others have nothing to add
    throw;
  } catch (...) {
    meeting->give_up();
    throw;
  }
  meeting.reset();
  wia_finalize();
  if (leader) leader->finish();
  return 0;
}

// Alone: starts ranks of this very command, once nothing is wrong with it.
int start(const MeasureOptions& options, const std::vector<std::string>& arguments) {
  const int ranks = options.ranks > 0 ? options.ranks : kRanksWithoutOption;
  check_several(ranks);
  tuned_sizes(options.sizes, options.collectives, ranks);
  read_before(options.output, options.fresh, conditions_of(ranks, nullptr));
  return start_own_ranks("wia tune", ranks, arguments);
}

}  // namespace

void declare(CLI::App& command, MeasureTexts& texts) {
  command.add_option("COLLECTIVE", texts.collectives, "all_reduce, ...; several: a,b; or all (default)");
  command.add_option("-n,--ranks", texts.ranks, "Number of ranks to start here (2)")
      ->check(CLI::Range(1, 4096));
  command.add_option("--budget", texts.budget, "Time to measure: 60s (default), 5m, 90");
  command.add_option("--sizes", texts.sizes, "Bytes: 8,64K,1M; else 8 to 64M by factors of 4, and between");
  command.add_flag("--fresh", texts.fresh, "Begins anew where the file is there already");
}

int measure(const MeasureTexts& texts, const std::string& output, const TrainOptions& train,
            const std::vector<std::string>& arguments) {
  const MeasureOptions options = read(texts, output, train);
  const Launch found = find_launch();
  return is_alone(found) ? start(options, arguments) : join(options, found);
}

}  // namespace wia::cli
