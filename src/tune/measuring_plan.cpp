#include "tune/measuring_plan.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "dispatch/tactic.hpp"
#include "tune/other_sizes.hpp"

namespace wia {
namespace {

constexpr size_t kRoundsToBeSure = 6, kMostRounds = 12, kFairRounds = 4;
constexpr double kFarOff = 4;                          // times the best prediction
constexpr double kMayStillWin = 1.5, kIsClose = 1.15;  // times the best, before and after the decision
constexpr double kLargestPart = 1.0 / 8;               // of the budget, that one round may take
constexpr double kVariedFrom = 256 << 10;              // bytes
constexpr size_t kVaried = 2;
constexpr double kShortestLook = 0.5e-3, kLongestLook = 5e-3;
constexpr double kLooks = 50;  // of a cell, in its part of the budget

// Every fourth size and the last, then the others between them, then the rest.
int level_of(size_t i, size_t sizes) {
  if (i % 4 == 0 || i + 1 == sizes) return 0;
  return i % 2 == 0 ? 1 : 2;
}
constexpr int kFinest = 3;

// What most time goes to in training comes first.
bool matters_most(Collective collective) { return collective <= Collective::broadcast; }

}  // namespace

MeasuringPlan::MeasuringPlan(std::vector<MeasuredCell> cells, MakeCell make, Options options)
    : make_(std::move(make)),
      options_(std::move(options)),
      look_s_(
          std::clamp(options_.budget_s / (kLooks * static_cast<double>(std::max<size_t>(cells.size(), 1))),
                     kShortestLook, kLongestLook)),
      cells_(std::move(cells)),
      plans_(cells_.size(), Plan{true}) {
  const std::vector<size_t> order = sorted();
  for (size_t first = 0, last; first < order.size(); first = last) {
    for (last = first;
         last < order.size() && cells_[order[last]].collective == cells_[order[first]].collective;)
      ++last;
    for (size_t i = first; i < last; ++i) plans_[order[i]].level = level_of(i - first, last - first);
  }
}

void MeasuringPlan::take_over(const Tuning& before) {
  for (const CollectiveTuning& tuning : before.collectives) {
    for (const CollectiveTuning::Cell& old : tuning.cells) {
      MeasuredCell& cell = cells_[place_of(tuning.collective, old.call.bytes)];
      if (cell.call.bytes != old.call.bytes) continue;
      auto rounds = old.rounds_us;
      if (rounds.empty())
        for (size_t c = 0; c < old.times_us.size(); ++c)
          if (old.times_us[c]) rounds[tuning.learned.classes[c]] = {*old.times_us[c]};
      for (MeasuredClass& one : cell.classes)
        if (auto known = rounds.extract(one.name)) one.rounds_us = std::move(known.mapped());
      for (auto& [name, times] : rounds)
        if (parse_tactic(tuning.collective, name))
          cell.classes.push_back({.name = name, .rounds_us = std::move(times)});
    }
  }
}

std::optional<MeasuringPlan::Round> MeasuringPlan::next(double seconds_left) {
  // What stands first in this order is next: what costs little before what costs much, as so few rounds of
  // the latter use up the time, and what is decided last.
  const double fair_s = options_.budget_s / static_cast<double>(cells_.size() * kFairRounds);
  const auto place_in_order = [&](size_t i, double seconds) {
    const MeasuredCell& cell = cells_[i];
    const size_t done = rounds(cell);
    const int stage = (done >= kRoundsToDecide ? 4 : 0) + (seconds > fair_s ? 2 : 0) +
                      (matters_most(cell.collective) ? 0 : 1);
    return std::tuple(stage, done, plans_[i].level, cell.collective, cell.call.bytes, i);
  };
  do {
    std::optional<decltype(place_in_order(0, 0))> first;
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (!plans_[i].asked) continue;
      vary(i);
      if (clear(cells_[i])) continue;
      const double seconds = seconds_of_round(cells_[i]);
      plans_[i].too_long = seconds > options_.budget_s * kLargestPart;
      if (plans_[i].too_long || seconds > seconds_left) continue;
      const auto place = place_in_order(i, seconds);
      if (!first || place < *first) first = place;
    }
    if (!first) continue;
    const size_t chosen = std::get<5>(*first);
    Round round = {chosen, rivals(cells_[chosen])};
    // None is always the first after what went before.
    const size_t turn = std::get<1>(*first) % round.classes.size();
    std::rotate(round.classes.begin(), round.classes.begin() + static_cast<std::ptrdiff_t>(turn),
                round.classes.end());
    return round;
  } while (options_.refines && refine());
  return std::nullopt;
}

void MeasuringPlan::add(size_t cell, size_t which, double microseconds) {
  cells_[cell].classes[which].rounds_us.push_back(std::max(std::round(microseconds * 1e3), 1.0) / 1e3);
}

void MeasuringPlan::refuse(size_t cell, size_t which) { cells_[cell].classes[which].refused = true; }

std::vector<size_t> MeasuringPlan::asked() const {
  std::vector<size_t> order = sorted();
  // A size that was only added is no loss when there was no time for it.
  std::erase_if(order,
                [this](size_t i) { return !plans_[i].asked || (plans_[i].added && !cells_[i].measured()); });
  return order;
}

MeasuringPlan::Stand MeasuringPlan::stand(size_t cell) const {
  if (cells_[cell].measured())
    return rounds(cells_[cell]) < kRoundsToDecide ? Stand::undecided : Stand::decided;
  return plans_[cell].too_long ? Stand::too_long : Stand::not_measured;
}

// The classes that may be the best, and the untuned one.
std::vector<size_t> MeasuringPlan::rivals(const MeasuredCell& cell) const {
  const double best = cell.best_us();
  double best_predicted = kUnknown;
  for (const MeasuredClass& one : cell.classes) best_predicted = std::fmin(best_predicted, one.predicted_us);
  std::vector<size_t> found;
  for (size_t c = 0; c < cell.classes.size(); ++c) {
    const MeasuredClass& one = cell.classes[c];
    const size_t done = one.rounds_us.size();
    const bool close = done == 0
                           ? !(one.predicted_us > kFarOff * best_predicted) && !lost_around(cells_, cell, one)
                           : one.median_us() <= best * (done < kRoundsToDecide ? kMayStillWin : kIsClose);
    if (!one.refused && (c == 0 || close)) found.push_back(c);
  }
  return found;
}

// That all rivals have been through.
size_t MeasuringPlan::rounds(const MeasuredCell& cell) const {
  size_t least = kMostRounds;
  for (const size_t c : rivals(cell)) least = std::min(least, cell.classes[c].rounds_us.size());
  return least;
}

// More rounds would tell nothing. Three may agree by chance: for another than the untuned class there are
// more.
bool MeasuringPlan::clear(const MeasuredCell& cell) const {
  const size_t done = rounds(cell);
  const MeasuredClass& choice = cell.choice();
  if (done < (&choice == &cell.untuned() ? kRoundsToDecide : kRoundsToBeSure)) return false;
  for (const size_t c : rivals(cell)) {
    const MeasuredClass& rival = cell.classes[c];
    if (&rival != &choice && !clearly_faster(choice, rival)) return done >= kMostRounds;
  }
  return true;
}

double MeasuringPlan::seconds_of_round(const MeasuredCell& cell) const {
  double seconds = 0;
  for (const size_t c : rivals(cell))
    seconds += std::fmax(look_s_, 2e-6 * expected_us(cells_, cell, cell.classes[c]));
  return seconds;
}

// Once all classes of a large call had a look, the best of them are tried with every ending.
void MeasuringPlan::vary(size_t i) {
  MeasuredCell& cell = cells_[i];
  if (plans_[i].varied || cell.call.bytes < kVariedFrom || rounds(cell) < 1) return;
  plans_[i].varied = true;
  std::vector<MeasuredClass> best;
  for (const MeasuredClass& one : cell.classes)
    if (!one.rounds_us.empty() && one.name.find('/') == std::string::npos) best.push_back(one);
  std::sort(best.begin(), best.end(),
            [](const auto& a, const auto& b) { return a.median_us() < b.median_us(); });
  best.resize(std::min(best.size(), kVaried));
  for (const MeasuredClass& one : best)
    for (const std::string& ending : options_.variants)
      if (!cell.find(one.name + ending)) cell.classes.push_back({.name = one.name + ending});
}

// Between two sizes whose choices differ, one more; false: there are none.
bool MeasuringPlan::refine() {
  std::vector<std::pair<Collective, double>> wanted;
  const MeasuredCell* below = nullptr;
  for (const size_t i : sorted()) {
    const MeasuredCell& cell = cells_[i];
    if (!plans_[i].asked || !cell.measured()) continue;
    if (below && below->collective == cell.collective && cell.call.bytes >= 3 * below->call.bytes &&
        cell.choice().name != below->choice().name)
      wanted.emplace_back(cell.collective, std::sqrt(cell.call.bytes * below->call.bytes));
    below = &cell;
  }
  bool added = false;
  for (const auto& [collective, bytes] : wanted) {
    Plan& plan = plans_[place_of(collective, bytes)];
    added |= !plan.asked;
    if (!plan.asked) plan.asked = plan.added = true;
  }
  return added;
}

std::vector<size_t> MeasuringPlan::sorted() const {
  std::vector<size_t> order(cells_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
    return std::pair(cells_[a].collective, cells_[a].call.bytes) <
           std::pair(cells_[b].collective, cells_[b].call.bytes);
  });
  return order;
}

// Of the cell of this call; made, and not asked for, where there was none.
size_t MeasuringPlan::place_of(Collective collective, double bytes) {
  MeasuredCell made = make_(collective, bytes);
  const auto found = std::find_if(cells_.begin(), cells_.end(), [&](const MeasuredCell& cell) {
    return cell.collective == collective && cell.call.bytes == made.call.bytes;
  });
  const auto place = static_cast<size_t>(found - cells_.begin());
  if (found == cells_.end()) {
    cells_.push_back(std::move(made));
    plans_.push_back({false, kFinest});
  }
  return place;
}

}  // namespace wia
