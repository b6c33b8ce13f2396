#include "base/sort_runs.hpp"

#include <gtest/gtest.h>

namespace wia {
namespace {

// A list of ascending and descending runs.
std::vector<int> list_of_runs(int runs, int length) {
  std::vector<int> list;
  for (int run = 0; run < runs; ++run)
    for (int i = 0; i < length; ++i) list.push_back(run % 2 ? 7 * (length - i) + run : 5 * i + run);
  return list;
}

TEST(SortRuns, SortsListsOfFewAndOfManyRuns) {
  for (int runs = 0; runs <= 40; ++runs) {
    for (const int length : {1, 2, 3, 10}) {
      std::vector<int> list = list_of_runs(runs, length), expected = list;
      std::sort(expected.begin(), expected.end());
      sort_runs(list);
      EXPECT_EQ(list, expected) << runs << " runs of " << length;
    }
  }
}

TEST(SortRuns, KeepsEqualElements) {
  std::vector<int> list = {3, 3, 2, 2, 2, 1, 1, 4};
  sort_runs(list);
  EXPECT_EQ(list, (std::vector<int>{1, 1, 2, 2, 2, 3, 3, 4}));
}

}  // namespace
}  // namespace wia
