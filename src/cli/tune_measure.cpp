#include "cli/tune_measure.hpp"

#include <errno.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>

#include "base/deadline.hpp"
#include "base/machine.hpp"
#include "base/parse.hpp"
#include "bootstrap/launch.hpp"
#include "cli/machine.hpp"
#include "cli/own_ranks.hpp"
#include "cli/tune_cells.hpp"
#include "cli/tune_look.hpp"
#include "cli/tune_measured_text.hpp"
#include "topology/file.hpp"
#include "tune/measuring_plan.hpp"

namespace wia::cli {
namespace {

constexpr double kLongestBudget = 7 * 24 * 3600.0;  // seconds
constexpr double kSaveEvery = 10;                   // seconds

struct Options {
  std::vector<Collective> collectives;
  std::string sizes, output;
  double budget_s = 60;
  int ranks = 0;  // 0: not said
  bool fresh = false;
  TrainOptions train;
};

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

Options read(const MeasureTexts& texts, const std::string& output, const TrainOptions& train) {
  Options options;
  options.collectives = tuned_collectives(texts.collectives);
  options.sizes = texts.sizes;
  options.output = output;
  options.budget_s = read_budget(texts.budget);
  options.ranks = texts.ranks;
  options.fresh = texts.fresh;
  options.train = train;
  return options;
}

std::string machine_name() { return fmt::format("{} ({})", host_name(), cpu_model()); }

// What has to be the same for one file; those that are not known yet are left out.
std::map<std::string, std::string> conditions_of(int ranks, const wia_communicator_t* world) {
  std::map<std::string, std::string> conditions = {{"ranks", std::to_string(ranks)}};
  if (!world) return conditions;
  conditions["nodes"] = std::to_string(wia_communicator_num_nodes(world));
  conditions["transport"] = wia_communicator_transport(world);
  return conditions;
}

// Network interfaces that a node uses, the fewest of any. Collective.
int used_nics(wia_communicator_t* world) {
  wia_topology_options_t how = {};
  how.struct_size = sizeof how;
  const std::unique_ptr<wia_topology_t, decltype(&wia_topology_free)> found(
      wia_discover_topology_with(world, &how), &wia_topology_free);
  if (!found) throw std::runtime_error(wia_last_error_message());
  auto topology = topology_from_text(wia_topology_json(found.get()), "the topology");
  if (!topology) throw std::runtime_error(topology.status().text());
  size_t fewest = SIZE_MAX;
  for (const Host& host : topology->hosts) fewest = std::min(fewest, host.used_nics.size());
  return topology->hosts.empty() ? 0 : static_cast<int>(fewest);
}

// What the best algorithms of large calls are tried with, beside the default.
std::vector<std::string> variants(int nics) {
  std::vector<std::string> endings = {"/slice=16K", "/slice=32K", "/slice=256K"};
  if (nics > 1) endings.emplace_back("/nics=1");
  return endings;
}

[[noreturn]] void refuse_output(const std::string& why) { throw CLI::ValidationError("-o", why); }

// What is in the file to go on from; none where there is no file. Before any work.
Tuning read_before(const Options& options, const std::map<std::string, std::string>& conditions) {
  namespace files = std::filesystem;
  const std::string& path = options.output;
  if (path == "-") return {};
  std::error_code ignored;
  const files::path folder = files::path(path).parent_path();
  if (files::is_directory(path, ignored)) refuse_output(fmt::format("{} is a directory", path));
  if (access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
    refuse_output(fmt::format("{} cannot be written: {}", path, strerror(errno)));
  if (options.fresh || !files::is_regular_file(path, ignored)) return {};
  auto before = read_tuning(path);
  if (!before) refuse_output(before.status().text() + " (--fresh begins anew)");
  const auto must_be = [&](const std::string& what, const std::string& there, const std::string& here) {
    if (there != here)
      refuse_output(fmt::format("{} is of {} \"{}\", here it is \"{}\" (--fresh begins anew)", path, what,
                                there, here));
  };
  must_be("machine", before->machine, machine_name());
  for (const auto& [what, here] : conditions) must_be(what, before->conditions[what], here);
  for (const CollectiveTuning& one : before->collectives)
    for (const auto& cell : one.cells)
      must_be("ranks", fmt::format("{:g}", cell.call.ranks), conditions.at("ranks"));
  return std::move(*before);
}

double seconds_in(const Tuning& tuning) {
  const auto found = tuning.conditions.find("seconds");
  const auto ms = found == tuning.conditions.end() ? std::nullopt : parse_seconds(found->second);
  return ms ? static_cast<double>(*ms) * 1e-3 : 0;
}

// Rank 0: decides what is measured, keeps the file.
class Leader {
 public:
  Leader(const Options& options, int ranks, const wia_communicator_t* world, int nics, Looker& looker)
      : options_(options),
        conditions_(conditions_of(ranks, world)),
        looker_(looker),
        cells_(ranks, wia_communicator_num_nodes(world), nics, read_config()),
        plan_(asked(ranks), [this](Collective c, double bytes) { return cells_.make(c, bytes); },
              {options.budget_s, variants(nics), options.sizes.empty()}),
        on_terminal_(isatty(STDERR_FILENO) != 0) {}

  // Throws CLI::ValidationError when the file is not one to go on from.
  void read() {
    before_ = read_before(options_, conditions_);
    plan_.take_over(before_);
  }
  void measure() {
    began_ns_ = now_ns();
    double saved = 0;
    while (const auto round = plan_.next(left())) {
      for (const size_t which : round->classes) {
        if (left() <= 0) break;
        look(round->cell, which);
      }
      if (options_.output != "-" && options_.budget_s - left() > saved + kSaveEvery) {
        save({.seed = options_.train.seed, .folds = 2, .repeats = 1});
        saved = options_.budget_s - left();
      }
    }
    took_s_ = options_.budget_s - left();
    if (on_terminal_) fmt::print(stderr, "\r\033[K");
    looker_.finish();
  }
  // The file, and the table.
  void finish() {
    save(options_.train);
    std::FILE* out = options_.output == "-" ? stderr : stdout;
    fmt::print(out, "{}", measured_text(plan_, machine_name(), conditions_, took_s_));
    if (std::fflush(out) != 0) throw std::runtime_error("the table could not be written");
  }

 private:
  static Config read_config() {
    auto config = Config::from_environment();
    if (!config) throw std::runtime_error(config.status().text());
    return std::move(config.value());
  }
  std::vector<MeasuredCell> asked(int ranks) {
    std::vector<MeasuredCell> cells;
    for (const Collective collective : options_.collectives) {
      std::set<double> seen;  // sizes may be rounded to the same one
      for (const uint64_t bytes : tuned_sizes(options_.sizes, options_.collectives, ranks)) {
        MeasuredCell cell = cells_.make(collective, static_cast<double>(bytes));
        if (seen.insert(cell.call.bytes).second) cells.push_back(std::move(cell));
      }
    }
    return cells;
  }
  double left() const { return options_.budget_s - static_cast<double>(now_ns() - began_ns_) * 1e-9; }

  void look(size_t i, size_t which) {
    const MeasuredCell& cell = plan_.cell(i);
    const MeasuredClass& one = cell.classes[which];
    if (on_terminal_) {
      fmt::print(stderr, "\r\033[K{}",
                 progress_text(options_.budget_s - left(), options_.budget_s,
                               fmt::format("{} {} {}", name_of(cell.collective), cell.call.bytes, one.name)));
      std::fflush(stderr);
    }
    const double expected_us = plan_.expected_us(i, which);
    const auto us = looker_.look({cell.collective, static_cast<uint64_t>(cell.call.bytes), one.name,
                                  !plan_.known_to_fit(i, which), static_cast<int64_t>(plan_.look_s() * 1e9),
                                  std::isnan(expected_us) ? 0 : static_cast<int64_t>(expected_us * 1e3)});
    us ? plan_.add(i, which, *us) : plan_.refuse(i, which);
  }
  void save(const TrainOptions& train) const {
    Tuning tuning = tuning_of(plan_.cells(), machine_name(), train);
    tuning.conditions = conditions_;
    tuning.conditions["source"] = "wia tune";
    tuning.conditions["version"] = wia_version();
    tuning.conditions["date"] = utc_now();
    tuning.conditions["seconds"] =
        fmt::format("{:.1f}", seconds_in(before_) + (took_s_ > 0 ? took_s_ : options_.budget_s - left()));
    if (const Status status = write_tuning(tuning, options_.output); !status.ok())
      throw std::runtime_error(status.text());
  }

  const Options& options_;
  const std::map<std::string, std::string> conditions_;
  Looker& looker_;
  TuneCells cells_;
  MeasuringPlan plan_;
  const bool on_terminal_;
  Tuning before_;
  int64_t began_ns_ = 0;
  double took_s_ = 0;
};

// As a rank of a job that somebody has started.
int join(const Options& options, const Launch& found) {
  check_ranks(options.ranks, found);
  wia_communicator_t* world = join_world();
  auto meeting = bench::Meeting::make(world, kMostCallsOfLook);
  const int nics = wia_communicator_num_nodes(world) > 1 ? used_nics(world) : 0;
  Looker looker(world, *meeting);
  std::unique_ptr<Leader> leader;
  try {
    if (found.rank == 0) {
      leader = std::make_unique<Leader>(options, found.size, world, nics, looker);
      try {
        leader->read();
      } catch (const CLI::ValidationError&) {
        looker.finish();  // one line is enough
        throw;
      }
      leader->measure();
    } else {
      looker.follow();
    }
  } catch (const CLI::ValidationError&) {
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
int start(const Options& options, const std::vector<std::string>& arguments) {
  const int ranks = options.ranks > 0 ? options.ranks : kRanksWithoutOption;
  tuned_sizes(options.sizes, options.collectives, ranks);
  read_before(options, conditions_of(ranks, nullptr));
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
  const Options options = read(texts, output, train);
  const Launch found = find_launch();
  return is_alone(found) ? start(options, arguments) : join(options, found);
}

}  // namespace wia::cli
