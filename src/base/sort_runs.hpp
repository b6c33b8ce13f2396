// Sorts what mostly is in order already: finds ascending and descending runs and merges them. Schedules are
// such lists: peers and tags go up or down from the own rank, around the end, once for each phase. With many
// runs it is std::sort. Not stable: for elements that are told apart by their order.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace wia {

template <class T>
void sort_runs(std::vector<T>& list) {
  constexpr size_t kManyRuns = 16;
  std::vector<size_t> ends = {0};  // of the runs, the first one begins at 0
  for (auto begin = list.begin(); begin != list.end();) {
    auto end = std::is_sorted_until(begin, list.end());
    if (end - begin == 1 && end != list.end()) {
      end = std::is_sorted_until(begin, list.end(), [](const T& a, const T& b) { return b < a; });
      std::reverse(begin, end);
    }
    if (ends.size() > kManyRuns) return std::sort(list.begin(), list.end());
    ends.push_back(static_cast<size_t>(end - list.begin()));
    begin = end;
  }
  const auto at = [&](size_t run) { return list.begin() + static_cast<std::ptrdiff_t>(ends[run]); };
  const size_t runs = ends.size() - 1;
  for (size_t width = 1; width < runs; width *= 2)
    for (size_t run = 0; run + width < runs; run += 2 * width)
      std::inplace_merge(at(run), at(run + width), at(std::min(run + 2 * width, runs)));
}

}  // namespace wia
