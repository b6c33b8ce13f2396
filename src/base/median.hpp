// The median of numbers. Pure.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

namespace wia {

// Of an even number of values the mean of the two in the middle; NaN of none.
inline double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace wia
