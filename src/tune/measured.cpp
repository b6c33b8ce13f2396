#include "tune/measured.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "tune/learn.hpp"

namespace wia {
namespace {

constexpr double kClearly = 0.97, kAsGood = 1.02;
constexpr double kNotClearly = 1.001;  // how much slower the choice's equals are said to be

// The value below which such a share of the rounds lies; between two rounds, in proportion.
double quantile(std::vector<double> rounds, double share) {
  if (rounds.empty()) return kUnknown;
  std::sort(rounds.begin(), rounds.end());
  const double place = share * static_cast<double>(rounds.size() - 1);
  const auto below = static_cast<size_t>(place);
  const double rest = place - static_cast<double>(below);
  return rest == 0 ? rounds[below] : rounds[below] * (1 - rest) + rounds[below + 1] * rest;
}

using Cells = std::vector<const MeasuredCell*>;  // of one collective, by bytes

// The choices of all cells; were there too many, those of most cells.
std::vector<std::string> learned_classes(const Cells& cells) {
  std::map<std::string, size_t> count;
  for (const MeasuredCell* cell : cells) ++count[cell->choice().name];
  std::vector<std::string> names;
  for (const auto& [name, number] : count) names.push_back(name);
  std::stable_sort(names.begin(), names.end(),
                   [&](const auto& a, const auto& b) { return count[a] > count[b]; });
  names.resize(std::min(names.size(), kMostClasses));
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<double> times_us(const MeasuredCell& cell, const std::vector<std::string>& classes) {
  const MeasuredClass& choice = cell.choice();
  std::vector<double> times(classes.size(), kUnknown);
  for (const MeasuredClass& one : cell.classes) {
    const auto place = std::find(classes.begin(), classes.end(), one.name);
    if (place == classes.end() || one.rounds_us.empty()) continue;
    const double least = &one == &choice ? 0 : choice.median_us() * kNotClearly;
    times[static_cast<size_t>(place - classes.begin())] = std::max(one.median_us(), least);
  }
  return times;
}

CellTable table_of(const Cells& cells, const std::string& machine) {
  CellTable table;
  table.machine = machine;
  table.collective = cells.front()->collective;
  table.classes = learned_classes(cells);
  for (const MeasuredCell* cell : cells) {
    Cell& one = table.cells.emplace_back(Cell{cell->call, times_us(*cell, table.classes)});
    for (double& time : one.seconds) time *= 1e-6;
  }
  return table;
}

// Times as they were measured, not as seconds and back; and all rounds.
void add_rounds(const Cells& cells, CollectiveTuning& tuning) {
  for (size_t i = 0; i < cells.size(); ++i) {
    CollectiveTuning::Cell& cell = tuning.cells[i];
    const std::vector<double> times = times_us(*cells[i], tuning.learned.classes);
    for (size_t c = 0; c < times.size(); ++c)
      if (!std::isnan(times[c])) cell.times_us[c] = times[c];
    for (const MeasuredClass& one : cells[i]->classes)
      if (!one.rounds_us.empty()) cell.rounds_us[one.name] = one.rounds_us;
  }
}

}  // namespace

double MeasuredClass::median_us() const { return quantile(rounds_us, 0.5); }

const MeasuredClass* MeasuredCell::find(const std::string& name) const {
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&](const MeasuredClass& one) { return one.name == name; });
  return found == classes.end() ? nullptr : &*found;
}

bool MeasuredCell::measured() const {
  return std::any_of(classes.begin(), classes.end(),
                     [](const MeasuredClass& one) { return !one.rounds_us.empty(); });
}

double MeasuredCell::best_us() const {
  double best = kUnknown;
  for (const MeasuredClass& one : classes) best = std::fmin(best, one.median_us());
  return best;
}

const MeasuredClass& MeasuredCell::choice() const {
  const auto may_be = [this](const MeasuredClass& one) {
    return untuned().rounds_us.empty() || clearly_faster(one, untuned());
  };
  double least = kUnknown;
  for (const MeasuredClass& one : classes)
    if (may_be(one)) least = std::fmin(least, one.median_us());
  for (const MeasuredClass& one : classes)
    if (may_be(one) && one.median_us() <= kAsGood * least) return one;
  return untuned();
}

bool clearly_faster(const MeasuredClass& one, const MeasuredClass& other) {
  if (std::min(one.rounds_us.size(), other.rounds_us.size()) < kRoundsToDecide) return false;
  return one.median_us() < kClearly * other.median_us() &&
         quantile(one.rounds_us, 0.75) < quantile(other.rounds_us, 0.25);
}

Tuning tuning_of(const std::vector<MeasuredCell>& cells, const std::string& machine,
                 const TrainOptions& options) {
  std::map<Collective, Cells> by_collective;
  for (const MeasuredCell& cell : cells)
    if (cell.measured()) by_collective[cell.collective].push_back(&cell);
  std::vector<CellTable> tables;
  for (auto& [collective, ones] : by_collective) {
    std::sort(ones.begin(), ones.end(),
              [](const MeasuredCell* a, const MeasuredCell* b) { return a->call.bytes < b->call.bytes; });
    tables.push_back(table_of(ones, machine));
  }
  Tuning tuning = learn(tables, options);
  tuning.machine = machine;
  for (CollectiveTuning& one : tuning.collectives) add_rounds(by_collective[one.collective], one);
  return tuning;
}

}  // namespace wia
