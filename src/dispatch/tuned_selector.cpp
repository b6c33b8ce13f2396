#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "dispatch/selectors.hpp"

namespace wia {
namespace {

bool same_group(const CallShape& a, const CallShape& b) { return a.ranks == b.ranks && a.nodes == b.nodes; }

// The class of the least time; empty: no time is known.
std::string_view fastest(const CollectiveTuning::Cell& cell, const std::vector<std::string>& classes) {
  size_t best = classes.size();
  for (size_t c = 0; c < classes.size(); ++c)
    if (cell.times_us[c] && (best == classes.size() || *cell.times_us[c] < *cell.times_us[best])) best = c;
  return best == classes.size() ? std::string_view() : classes[best];
}

double least_time(const CollectiveTuning::Cell& cell) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& time : cell.times_us) least = std::min(least, time.value_or(least));
  return least;
}

constexpr double kClose = 1.5;

}  // namespace

bool TunedSelector::covers(const CallShape& call) const {
  bool same = false, below = false, above = false;
  for (const Cell& cell : tuning_.cells) {
    same |= same_group(cell.call, call);
    // Several nodes are another machine than one.
    if ((cell.call.nodes > 1) != (call.nodes > 1)) continue;
    below |= cell.call.ranks <= call.ranks && cell.call.nodes <= call.nodes;
    above |= cell.call.ranks >= call.ranks && cell.call.nodes >= call.nodes;
  }
  return same || (below && above);
}

TunedSelector::Neighbours TunedSelector::neighbours_of(const CallShape& call) const {
  Neighbours found;
  for (const Cell& cell : tuning_.cells) {
    if (!same_group(cell.call, call)) continue;
    if (cell.call.bytes <= call.bytes && (!found.below || cell.call.bytes > found.below->call.bytes))
      found.below = &cell;
    if (cell.call.bytes >= call.bytes && (!found.above || cell.call.bytes < found.above->call.bytes))
      found.above = &cell;
  }
  return found;
}

std::string_view TunedSelector::measured_choice(const CallShape& call) const {
  const Neighbours near = neighbours_of(call);
  if (!near.below || !near.above) return {};
  const std::string_view below = fastest(*near.below, tuning_.learned.classes);
  return below == fastest(*near.above, tuning_.learned.classes) ? below : std::string_view();
}

std::string_view TunedSelector::choose(const CallShape& call) const {
  const std::string_view measured = measured_choice(call);
  return measured.empty() ? learned_.choose(call) : measured;
}

std::vector<std::string_view> TunedSelector::close_to_best(const CallShape& call) const {
  const Neighbours near = neighbours_of(call);
  std::vector<std::pair<double, std::string_view>> close;
  for (size_t c = 0; c < tuning_.learned.classes.size(); ++c) {
    double ratio = kClose + 1;
    for (const Cell* cell : {near.below, near.above})
      if (cell && cell->times_us[c]) ratio = std::min(ratio, *cell->times_us[c] / least_time(*cell));
    if (ratio <= kClose) close.emplace_back(ratio, tuning_.learned.classes[c]);
  }
  std::stable_sort(close.begin(), close.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> names;
  for (const auto& [ratio, name] : close) names.push_back(name);
  return names;
}

std::vector<Candidate> TunedSelector::explain(const CallShape& call) const {
  std::vector<Candidate> candidates = learned_.explain(call);
  const Neighbours near = neighbours_of(call);
  for (Candidate& candidate : candidates) {
    const auto c = static_cast<size_t>(
        std::find(tuning_.learned.classes.begin(), tuning_.learned.classes.end(), candidate.name) -
        tuning_.learned.classes.begin());
    const auto add = [&](const Cell* cell) {
      if (cell && cell->times_us[c])
        candidate.reason +=
            fmt::format("; measured {:.2f} us at {:.0f} bytes", *cell->times_us[c], cell->call.bytes);
    };
    add(near.below);
    if (near.above != near.below) add(near.above);
  }
  const std::string_view measured = measured_choice(call);
  const auto chosen = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const Candidate& candidate) { return candidate.name == measured; });
  if (chosen != candidates.end()) std::rotate(candidates.begin(), chosen, chosen + 1);
  return candidates;
}

}  // namespace wia
