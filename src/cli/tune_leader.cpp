#include "cli/tune_leader.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "base/deadline.hpp"
#include "base/machine.hpp"
#include "cli/tune_measured_text.hpp"
#include "topology/topology.hpp"
#include "tune/other_sizes.hpp"

namespace wia::cli {
namespace {

constexpr double kSaveEvery = 10;  // seconds

Config read_config() {
  auto config = Config::from_environment();
  if (!config) throw std::runtime_error(config.status().text());
  return std::move(config.value());
}

// What the best algorithms of large calls are tried with, beside the default.
std::vector<std::string> variants(int nics) {
  std::vector<std::string> endings = {"/slice=16K", "/slice=32K", "/slice=256K"};
  if (nics > 1) endings.emplace_back("/nics=1");
  return endings;
}

}  // namespace

TuneLeader::TuneLeader(const MeasureOptions& options, const wia_communicator_t* world, const JobCosts& job,
                       Looker& looker)
    : options_(options),
      conditions_(conditions_of(wia_size(world), world)),
      costs_(job.costs),
      looker_(looker),
      before_(read_before(options.output, options.fresh, conditions_)),
      cells_(wia_size(world), wia_communicator_num_nodes(world), job, read_config()),
      plan_(asked(wia_size(world)), [this](Collective c, double bytes) { return cells_.make(c, bytes); },
            {options.budget_s, variants(job.nics), options.sizes.empty()}),
      on_terminal_(isatty(STDERR_FILENO) != 0) {
  plan_.take_over(before_);
}

void TuneLeader::measure() {
  began_ns_ = now_ns();
  double saved_s = 0;
  while (const auto round = plan_.next(options_.budget_s - passed_s())) {
    for (const size_t which : round->classes)
      if (passed_s() < options_.budget_s) look(round->cell, which);
    if (options_.output == "-" || passed_s() < saved_s + kSaveEvery) continue;
    save({.seed = options_.train.seed, .folds = 2, .repeats = 1});  // others wait: in short
    saved_s = passed_s();
  }
  took_s_ = passed_s();
  if (on_terminal_) fmt::print(stderr, "\r\033[K");
  looker_.finish();
}

void TuneLeader::finish() {
  save(options_.train);
  std::FILE* out = options_.output == "-" ? stderr : stdout;
  fmt::print(out, "{}", measured_text(plan_, machine_name(), conditions_, took_s_));
  if (std::fflush(out) != 0) throw std::runtime_error("the table could not be written");
}

// Sizes may be rounded to the same one.
std::vector<MeasuredCell> TuneLeader::asked(int ranks) {
  std::vector<MeasuredCell> cells;
  for (const Collective collective : options_.collectives) {
    std::set<double> seen;
    for (const uint64_t bytes : tuned_sizes(options_.sizes, options_.collectives, ranks)) {
      MeasuredCell cell = cells_.make(collective, static_cast<double>(bytes));
      if (seen.insert(cell.call.bytes).second) cells.push_back(std::move(cell));
    }
  }
  return cells;
}

double TuneLeader::passed_s() const { return static_cast<double>(now_ns() - began_ns_) * 1e-9; }

void TuneLeader::look(size_t i, size_t which) {
  const MeasuredCell& cell = plan_.cells()[i];
  const MeasuredClass& one = cell.classes[which];
  if (on_terminal_) show(fmt::format("{} {} {}", name_of(cell.collective), cell.call.bytes, one.name));
  LookOrder order;
  order.collective = cell.collective;
  order.bytes = static_cast<uint64_t>(cell.call.bytes);
  order.name = one.name;
  order.first = !known_to_fit(plan_.cells(), cell.collective, one.name);
  order.look_ns = static_cast<int64_t>(plan_.look_s() * 1e9);
  const double expected = expected_us(plan_.cells(), cell, one);
  order.expected_ns = std::isnan(expected) ? 0 : static_cast<int64_t>(expected * 1e3);
  const auto us = looker_.look(order);
  us ? plan_.add(i, which, *us) : plan_.refuse(i, which);
}

void TuneLeader::show(const std::string& what) const {
  fmt::print(stderr, "\r\033[K{}", progress_text(passed_s(), options_.budget_s, what));
  std::fflush(stderr);
}

void TuneLeader::save(const TrainOptions& train) const {
  Tuning tuning = tuning_of(plan_.cells(), machine_name(), train);
  tuning.costs = costs_;
  tuning.conditions = conditions_;
  tuning.conditions["cpu"] = cpu_model();
  tuning.conditions["source"] = "wia tune";
  tuning.conditions["version"] = wia_version();
  tuning.conditions["date"] = utc_now();
  tuning.conditions["seconds"] =
      fmt::format("{:.1f}", seconds_in(before_) + (took_s_ > 0 ? took_s_ : passed_s()));
  if (const Status status = write_tuning(tuning, options_.output); !status.ok())
    throw std::runtime_error(status.text());
}

}  // namespace wia::cli
