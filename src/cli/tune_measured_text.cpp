#include "cli/tune_measured_text.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace wia::cli {
namespace {

std::string line_of(const MeasuredCell& cell) {
  const MeasuredClass &choice = cell.choice(), &untuned = cell.untuned();
  return fmt::format("{:>14} {:>11.0f} {:>24} {:>11.2f} {:>24} {:>11.2f} {:>7.3f} {:>7}\n",
                     name_of(cell.collective), cell.call.bytes, choice.name, choice.median_us(), untuned.name,
                     untuned.median_us(), untuned.median_us() / choice.median_us(), choice.rounds_us.size());
}

// "why: all_reduce 8, 32; all_gather 64"; empty where there are none.
std::string cells_text(const MeasuringPlan& plan, MeasuringPlan::Stand stand, const char* why) {
  std::map<Collective, std::vector<std::string>> sizes;
  for (const size_t i : plan.asked())
    if (plan.stand(i) == stand)
      sizes[plan.cells()[i].collective].push_back(fmt::format("{:.0f}", plan.cells()[i].call.bytes));
  std::vector<std::string> parts;
  for (const auto& [collective, bytes] : sizes)
    parts.push_back(fmt::format("{} {}", name_of(collective), fmt::join(bytes, ", ")));
  return parts.empty() ? "" : fmt::format("# {}: {}\n", why, fmt::join(parts, "; "));
}

}  // namespace

std::string measured_text(const MeasuringPlan& plan, const std::string& machine,
                          const std::map<std::string, std::string>& conditions, double seconds) {
  std::string text = fmt::format(
      "# {}, {} ranks on {} node{}, {}; {:.1f} s\n", machine, conditions.at("ranks"), conditions.at("nodes"),
      conditions.at("nodes") == "1" ? "" : "s", conditions.at("transport"), seconds);
  text += fmt::format("#{:>13} {:>11} {:>24} {:>11} {:>24} {:>11} {:>7} {:>7}\n", "collective", "size (B)",
                      "choice", "time (us)", "untuned", "time (us)", "ratio", "rounds");
  double logs = 0;
  int cells = 0, changed = 0;
  for (const size_t i : plan.asked()) {
    const MeasuredCell& cell = plan.cells()[i];
    if (cell.untuned().rounds_us.empty()) continue;
    text += line_of(cell);
    logs += std::log(cell.untuned().median_us() / cell.choice().median_us());
    ++cells;
    changed += &cell.choice() != &cell.untuned();
  }
  if (cells > 0)
    text +=
        fmt::format("# {} cells, in {} another choice than untuned; geometric mean of the ratios {:.3f}\n",
                    cells, changed, std::exp(logs / cells));
  using enum MeasuringPlan::Stand;
  text += cells_text(plan, undecided, "fewer than 3 rounds, the untuned choice stays");
  text += cells_text(plan, not_measured, "left out, the time has passed");
  text += cells_text(plan, too_long, "left out, a round would take over an eighth of the time");
  return text;
}

std::string progress_text(double seconds, double of, const std::string& what) {
  constexpr int kWidth = 30;
  const int done = static_cast<int>(std::clamp(seconds / of, 0.0, 1.0) * kWidth);
  return fmt::format("[{:#<{}}{:.<{}}] {:.0f} of {:.0f} s: {}", "", done, "", kWidth - done, seconds, of,
                     what);
}

}  // namespace wia::cli
