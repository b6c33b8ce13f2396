#include "tune/measuring_plan.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "dispatch/tactic.hpp"

namespace wia {
namespace {

constexpr size_t kRoundsToBeSure = 6, kMostRounds = 12;
constexpr size_t kFairRounds = 4;
constexpr double kFewUsPerByte = 1e-3, kLeastUsPerByte = 1e-4;  // 1 and 10 GB/s
constexpr double kFarOff = 4;                                   // times the best prediction
constexpr double kLostAtNeighbours = 3;                         // times the best, at the sizes on both sides
constexpr double kMayStillWin = 1.5, kIsClose = 1.15;  // times the best, before and after the decision
constexpr double kLargestPart = 1.0 / 8;               // of the budget, that one round may take
constexpr double kVariedFrom = 256 << 10;              // bytes
constexpr size_t kVaried = 2;
constexpr double kShortestLook = 0.5e-3, kLongestLook = 5e-3;
constexpr double kLooks = 50;  // per cell, in the budget
constexpr int kFinest = 3;

// Every fourth size and the last, then the others between them, then the rest.
int level_of(size_t i, size_t sizes) {
  if (i % 4 == 0 || i + 1 == sizes) return 0;
  return i % 2 == 0 ? 1 : 2;
}

// What most time goes to in training comes first.
bool matters_most(Collective collective) { return collective <= Collective::broadcast; }

bool before(const MeasuredCell& a, const MeasuredCell& b) {
  return std::pair(a.collective, a.call.bytes) < std::pair(b.collective, b.call.bytes);
}

}  // namespace

MeasuringPlan::MeasuringPlan(const std::vector<MeasuredCell>& cells, MakeCell make, Options options)
    : make_(std::move(make)),
      options_(std::move(options)),
      look_s_(
          std::clamp(options_.budget_s / (kLooks * static_cast<double>(std::max<size_t>(cells.size(), 1))),
                     kShortestLook, kLongestLook)) {
  for (const MeasuredCell& cell : cells) plans_.push_back({cell, 0, true, false});
  const std::vector<size_t> order = sorted();
  for (size_t first = 0, last; first < order.size(); first = last) {
    const auto collective = plans_[order[first]].cell.collective;
    for (last = first; last < order.size() && plans_[order[last]].cell.collective == collective;) ++last;
    for (size_t i = first; i < last; ++i) plans_[order[i]].level = level_of(i - first, last - first);
  }
}

void MeasuringPlan::take_over(const Tuning& before) {
  for (const CollectiveTuning& tuning : before.collectives) {
    for (const CollectiveTuning::Cell& old : tuning.cells) {
      MeasuredCell& cell = plans_[place_of(tuning.collective, old.call.bytes, false)].cell;
      if (cell.call.bytes != old.call.bytes) continue;
      auto rounds = old.rounds_us;
      if (rounds.empty())
        for (size_t c = 0; c < old.times_us.size(); ++c)
          if (old.times_us[c]) rounds[tuning.svm.classes[c]] = {*old.times_us[c]};
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
  const double fair_s = options_.budget_s / static_cast<double>(plans_.size() * kFairRounds);
  const auto key = [&](const Plan& plan, double seconds) {
    const size_t done = rounds(plan);
    const int stage = (done >= kRoundsToDecide ? 4 : 0) + (seconds > fair_s ? 2 : 0) +
                      (matters_most(plan.cell.collective) ? 0 : 1);
    return std::tuple(stage, done, plan.level, plan.cell.collective, plan.cell.call.bytes);
  };
  do {
    Plan* best = nullptr;
    decltype(key(plans_.front(), 0)) first;
    for (Plan& plan : plans_) {
      if (!plan.asked) continue;
      vary(plan);
      if (clear(plan)) continue;
      const double seconds = seconds_of_round(plan);
      plan.too_long = seconds > options_.budget_s * kLargestPart;
      if (plan.too_long || seconds > seconds_left) continue;
      const auto place = key(plan, seconds);
      if (!best || place < first) best = &plan, first = place;
    }
    if (best) {
      Round round = {static_cast<size_t>(best - plans_.data()), rivals(*best)};
      // None is always the first after what went before.
      const size_t turn = rounds(*best) % round.classes.size();
      std::rotate(round.classes.begin(), round.classes.begin() + static_cast<std::ptrdiff_t>(turn),
                  round.classes.end());
      return round;
    }
  } while (options_.refines && refine());
  return std::nullopt;
}

double MeasuringPlan::expected_us(size_t cell, size_t which) const {
  return expected_us(plans_[cell], plans_[cell].cell.classes[which]);
}

void MeasuringPlan::add(size_t cell, size_t which, double microseconds) {
  plans_[cell].cell.classes[which].rounds_us.push_back(std::max(std::round(microseconds * 1e3), 1.0) / 1e3);
}

bool MeasuringPlan::known_to_fit(size_t cell, size_t which) const {
  const MeasuredCell& here = plans_[cell].cell;
  return std::any_of(plans_.begin(), plans_.end(), [&](const Plan& plan) {
    const MeasuredClass* same =
        plan.cell.collective == here.collective ? plan.cell.find(here.classes[which].name) : nullptr;
    return same && !same->rounds_us.empty();
  });
}

void MeasuringPlan::refuse(size_t cell, size_t which) { plans_[cell].cell.classes[which].refused = true; }

std::vector<MeasuredCell> MeasuringPlan::cells() const {
  std::vector<MeasuredCell> cells;
  for (const size_t i : sorted())
    if (plans_[i].cell.measured()) cells.push_back(plans_[i].cell);
  return cells;
}

std::vector<size_t> MeasuringPlan::asked() const {
  std::vector<size_t> order = sorted();
  // A size that was only added is no loss when there was no time for it.
  std::erase_if(order, [this](size_t i) {
    return !plans_[i].asked || (plans_[i].added && !plans_[i].cell.measured());
  });
  return order;
}

MeasuringPlan::Stand MeasuringPlan::stand(size_t i) const {
  const Plan& plan = plans_[i];
  if (plan.cell.measured()) return rounds(plan) < kRoundsToDecide ? Stand::undecided : Stand::decided;
  return plan.too_long ? Stand::too_long : Stand::not_measured;
}

// The nearest size of the same collective, on one side, that was measured: with this class, "": with any.
const MeasuringPlan::Plan* MeasuringPlan::neighbour(const Plan& plan, bool above,
                                                    const std::string& name) const {
  const Plan* nearest = nullptr;
  for (const Plan& other : plans_) {
    if (other.cell.collective != plan.cell.collective || &other == &plan) continue;
    if ((other.cell.call.bytes > plan.cell.call.bytes) != above) continue;
    if (nearest && (other.cell.call.bytes < nearest->cell.call.bytes) != above) continue;
    const MeasuredClass* one = name.empty() ? nullptr : other.cell.find(name);
    if (one ? !one->rounds_us.empty() : name.empty() && other.cell.measured()) nearest = &other;
  }
  return nearest;
}

// Not worth a look: by the model, or by what the sizes around tell.
bool MeasuringPlan::far_off(const Plan& plan, const MeasuredClass& one) const {
  double best = kUnknown;
  for (const MeasuredClass& other : plan.cell.classes) best = std::fmin(best, other.predicted_us);
  if (one.predicted_us > kFarOff * best) return true;
  const auto lost = [&](const Plan* there) {
    return there && there->cell.find(one.name)->median_us() > kLostAtNeighbours * there->cell.best_us();
  };
  const Plan *below = neighbour(plan, false, one.name), *above = neighbour(plan, true, one.name);
  if (!below && above) below = neighbour(*above, true, one.name);
  if (!above && below) above = neighbour(*below, false, one.name);
  return lost(below) && lost(above);
}

// The classes that may be the best, and the untuned one.
std::vector<size_t> MeasuringPlan::rivals(const Plan& plan) const {
  const auto& classes = plan.cell.classes;
  const double best = plan.cell.best_us();
  std::vector<size_t> found;
  for (size_t c = 0; c < classes.size(); ++c) {
    const size_t done = classes[c].rounds_us.size();
    const double limit = done < kRoundsToDecide ? kMayStillWin : kIsClose;
    const bool close = done == 0 ? !far_off(plan, classes[c]) : classes[c].median_us() <= limit * best;
    if (!classes[c].refused && (c == 0 || close)) found.push_back(c);
  }
  return found;
}

// That all rivals have been through.
size_t MeasuringPlan::rounds(const Plan& plan) const {
  size_t least = kMostRounds;
  for (const size_t c : rivals(plan)) least = std::min(least, plan.cell.classes[c].rounds_us.size());
  return least;
}

// More rounds would tell nothing. Three may agree by chance: for another than the untuned class there are
// more.
bool MeasuringPlan::clear(const Plan& plan) const {
  const size_t done = rounds(plan);
  const MeasuredClass& choice = plan.cell.choice();
  if (done < (&choice == &plan.cell.untuned() ? kRoundsToDecide : kRoundsToBeSure)) return false;
  for (const size_t c : rivals(plan)) {
    const MeasuredClass& rival = plan.cell.classes[c];
    if (&rival != &choice && !clearly_faster(choice, rival)) return done >= kMostRounds;
  }
  return true;
}

// Along the line through the two nearest smaller sizes; where there is one, with a bandwidth that is no
// better than that one's, and not slow.
double MeasuringPlan::expected_us(const Plan& plan, const MeasuredClass& one) const {
  if (!one.rounds_us.empty()) return one.median_us();
  const auto at = [&](const Plan& there) {
    const MeasuredClass* same = there.cell.find(one.name);
    return same && !same->rounds_us.empty() ? same->median_us() : there.cell.best_us();
  };
  const Plan* below = neighbour(plan, false);
  if (!below) {
    const Plan* above = neighbour(plan, true);
    return above ? at(*above) : kUnknown;
  }
  const double time = at(*below), bytes = below->cell.call.bytes;
  double us_per_byte = std::min(time / std::max(bytes, 1.0), kFewUsPerByte);
  if (const Plan* further = neighbour(*below, false))
    us_per_byte = std::max((time - at(*further)) / (bytes - further->cell.call.bytes), kLeastUsPerByte);
  return time + us_per_byte * (plan.cell.call.bytes - bytes);
}

double MeasuringPlan::seconds_of_round(const Plan& plan) const {
  double seconds = 0;
  for (const size_t c : rivals(plan))
    seconds += std::fmax(look_s_, 2e-6 * expected_us(plan, plan.cell.classes[c]));
  return seconds;
}

// Once all classes of a large call had a look, the best of them are tried with every ending.
void MeasuringPlan::vary(Plan& plan) {
  auto& classes = plan.cell.classes;
  if (plan.varied || plan.cell.call.bytes < kVariedFrom || rounds(plan) < 1) return;
  plan.varied = true;
  std::vector<MeasuredClass> best;
  for (const MeasuredClass& one : classes)
    if (!one.rounds_us.empty() && one.name.find('/') == std::string::npos) best.push_back(one);
  std::sort(best.begin(), best.end(),
            [](const auto& a, const auto& b) { return a.median_us() < b.median_us(); });
  best.resize(std::min(best.size(), kVaried));
  for (const MeasuredClass& one : best)
    for (const std::string& ending : options_.variants)
      if (!plan.cell.find(one.name + ending)) classes.push_back({.name = one.name + ending});
}

// Between two sizes whose choices differ, one more; false: there are none.
bool MeasuringPlan::refine() {
  std::vector<std::pair<Collective, double>> wanted;
  const Plan* below = nullptr;
  for (const size_t i : sorted()) {
    const Plan& plan = plans_[i];
    if (!plan.asked || !plan.cell.measured()) continue;
    if (below && below->cell.collective == plan.cell.collective &&
        plan.cell.call.bytes >= 3 * below->cell.call.bytes &&
        plan.cell.choice().name != below->cell.choice().name)
      wanted.emplace_back(plan.cell.collective, std::sqrt(plan.cell.call.bytes * below->cell.call.bytes));
    below = &plan;
  }
  bool added = false;
  for (const auto& [collective, bytes] : wanted) {
    Plan& plan = plans_[place_of(collective, bytes, true)];
    added |= !plan.asked || !plan.added;
    plan.asked = plan.added = true;
  }
  return added;
}

std::vector<size_t> MeasuringPlan::sorted() const {
  std::vector<size_t> order(plans_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [this](size_t a, size_t b) { return before(plans_[a].cell, plans_[b].cell); });
  return order;
}

// Makes the cell where there is none.
size_t MeasuringPlan::place_of(Collective collective, double bytes, bool asked) {
  MeasuredCell made = make_(collective, bytes);
  const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const Plan& plan) {
    return plan.cell.collective == collective && plan.cell.call.bytes == made.call.bytes;
  });
  if (found != plans_.end()) return static_cast<size_t>(found - plans_.begin());
  plans_.push_back({std::move(made), kFinest, asked, false});
  return plans_.size() - 1;
}

}  // namespace wia
