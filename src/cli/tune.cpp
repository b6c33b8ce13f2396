// wia tune: learns which choice is fastest, from what it measures or from a table of timings.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "cli/commands.hpp"
#include "cli/tune_measure.hpp"
#include "cli/tune_report.hpp"
#include "simulate/machine_model.hpp"
#include "tune/learn.hpp"

namespace wia::cli {
namespace {

struct Options {
  std::string from, file, output, json, machine;
  bool report = false;
  double ranks_per_node = 0;  // 0: as told by the table, or by a machine model of its machine's name
  ReportOptions how;
  MeasureTexts measured;
};

// What the table does not say of its machines, from the option or from the machine models that are built in.
void fill_in(TimingTable& timings, const Options& options) {
  const auto names = machine_names();
  std::map<std::string, MachineModel> known;
  for (Timing& row : timings.rows) {
    if (!std::isnan(row.call.ranks_per_node) || !std::isnan(row.call.nodes)) continue;
    if (options.ranks_per_node > 0) {
      row.call.ranks_per_node = options.ranks_per_node;
      continue;
    }
    if (std::find(names.begin(), names.end(), row.machine) == names.end()) continue;
    if (!known.count(row.machine)) {
      auto model = find_machine_model(row.machine);
      if (!model) throw std::runtime_error(model.status().text());
      fmt::print(stderr, "wia tune: {}: {} ranks and {} NICs a node, from the model of this machine\n",
                 row.machine, model->ranks_per_node, model->nics_per_node);
      known.emplace(row.machine, *model);
    }
    const MachineModel& model = known.at(row.machine);
    row.call.ranks_per_node = model.ranks_per_node;
    if (std::isnan(row.call.nics_per_node)) row.call.nics_per_node = model.nics_per_node;
  }
}

std::vector<CellTable> read_tables(const Options& options) {
  auto timings = read_timings(options.from);
  if (!timings) throw CLI::ValidationError("--from", timings.status().text());
  if (!timings->ignored_columns.empty())
    fmt::print(stderr, "wia tune: {}: columns that are not used: {}\n", options.from,
               fmt::join(timings->ignored_columns, ", "));
  fill_in(*timings, options);
  std::vector<CellTable> tables;
  std::set<std::string> machines;
  for (CellTable& table : cells_of(*timings)) {
    machines.insert(table.machine);
    if (!options.machine.empty() && table.machine != options.machine) continue;
    if (table.cells.empty())
      fmt::print(stderr, "wia tune: {}: {} {} is left out: no call was timed with two choices\n",
                 options.from, table.machine, name_of(table.collective));
    else if (table.classes.size() > kMostClasses)
      throw CLI::ValidationError("--from", fmt::format("{}: {} {} has {} choices, at most {} can be learned",
                                                       options.from, table.machine, name_of(table.collective),
                                                       table.classes.size(), kMostClasses));
    else
      tables.push_back(std::move(table));
  }
  if (!options.machine.empty() && !machines.count(options.machine))
    throw CLI::ValidationError("--machine", fmt::format("\"{}\" is not in {}, which has {}", options.machine,
                                                        options.from, fmt::join(machines, ", ")));
  if (!options.output.empty() && options.machine.empty() && machines.size() > 1)
    throw CLI::ValidationError(
        "-o", fmt::format("a tuning file is of one machine; {} has {}: choose by --machine", options.from,
                          fmt::join(machines, ", ")));
  if (tables.empty())
    throw CLI::ValidationError("--from", fmt::format("{}: no call was timed with two choices", options.from));
  return tables;
}

void report(const Options& options, const std::vector<CellTable>& tables) {
  ReportOptions how = options.how;
  std::vector<TableReport> reports;
  if (options.json != "-") fmt::print("{}", report_header(how));
  for (const CellTable& table : tables) {
    if (isatty(STDERR_FILENO))
      how.progress = [&](int done, int splits) {
        fmt::print(stderr, "\r\033[K{} {}: {} of {} splits{}", table.machine, name_of(table.collective), done,
                   splits, done == splits ? "\r\033[K" : "");
        std::fflush(stderr);
      };
    reports.push_back(report_on(table, how));
    if (options.json != "-") fmt::print("{}", report_text(table, reports.back()));
  }
  if (!options.json.empty()) write_text(json_text(report_json(tables, reports, how)), options.json);
}

void write(const Options& options, const std::vector<CellTable>& tables) {
  Tuning tuning = learn(tables, options.how.train);
  size_t rows = 0;
  for (const CellTable& table : tables) rows += table.rows;
  tuning.conditions = {{"source", options.from}, {"rows", std::to_string(rows)}};
  if (const Status status = write_tuning(tuning, options.output); !status.ok())
    throw std::runtime_error(status.text());
  if (options.output != "-" && options.json != "-") fmt::print("{}", tuning_text(tuning));
}

int run_measuring(const Options& options, const std::vector<std::string>& arguments) {
  if (options.output.empty())
    throw CLI::ValidationError(
        "-o", "is missing: the file for what is measured; or --from, a table; or --file, to be shown");
  if (options.report) throw CLI::ValidationError("--report", "goes with --from");
  if (!options.json.empty()) throw CLI::ValidationError("--json", "goes with --report");
  return measure(options.measured, options.output, options.how.train, arguments);
}

int show(const Options& options) {
  auto tuning = read_tuning(options.file);
  if (!tuning) throw CLI::ValidationError("--file", tuning.status().text());
  fmt::print("{}", tuning_text(*tuning));
  return 0;
}

int run(const Options& options, const std::vector<std::string>& arguments) {
  if (!options.from.empty() && !options.file.empty())
    throw CLI::ValidationError("--from", "or --file, one of the two");
  if (!options.file.empty()) return show(options);
  if (options.from.empty()) return run_measuring(options, arguments);
  if (!options.report && options.output.empty())
    throw CLI::ValidationError("--from", "nothing is asked for: --report, or -o FILE");
  if (!options.json.empty() && !options.report) throw CLI::ValidationError("--json", "goes with --report");
  if (options.json == "-" && options.output == "-")
    throw CLI::ValidationError("-o", "goes to stdout, where --json goes too");
  check_json_file(options.json);
  const std::vector<CellTable> tables = read_tables(options);
  if (options.report) report(options, tables);
  if (!options.output.empty()) write(options, tables);
  if (std::fflush(stdout) != 0) throw std::runtime_error("stdout cannot be written");
  return 0;
}

}  // namespace

void add_tune(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("tune", "Learns which choice is fastest, by measuring or from timings");
  auto options = std::make_shared<Options>();
  declare(*command, options->measured);
  CLI::Option* from = command->add_option("--from", options->from, "A table of timings, CSV");
  for (const char* measuring : {"COLLECTIVE", "--ranks", "--budget", "--sizes", "--fresh"})
    from->excludes(command->get_option(measuring));
  command->add_flag("--report", options->report, "How well what is learned chooses in cells held out");
  command->add_option("-o,--output", options->output, "Writes a tuning file; -: to stdout");
  command->add_option("--file", options->file, "Shows what is in a tuning file");
  command->add_option("--machine", options->machine, "Of the machines in the table only this");
  command
      ->add_option("--ranks-per-node", options->ranks_per_node,
                   "Where the table does not say it (as machine models of the same name do)")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--default", options->how.default_class, "The choice where nobody chooses (vendor)");
  command->add_option("--splits", options->how.splits, "Splits of the report (20)")
      ->check(CLI::Range(1, 1000));
  command->add_option("--seed", options->how.seed, "Of splits and folds (1)");
  command->add_option("--json", options->json,
                      "The report also as JSON to this file; -: only JSON, to stdout");
  command->callback([=, &invocation] { invocation.exit_code = run(*options, invocation.arguments); });
}

}  // namespace wia::cli
