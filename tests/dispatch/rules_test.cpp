// Whatever the rules choose exists and may be used there.
#include "dispatch/rules.hpp"

#include <gtest/gtest.h>

#include "algorithms/algorithm.hpp"

namespace wia {
namespace {

struct Case {
  int ranks, nodes;
  bool even, deterministic;
};

class Rules : public testing::TestWithParam<Case> {};

TEST_P(Rules, ChooseWhatFits) {
  const auto [ranks, nodes, even, deterministic] = GetParam();
  for (int c = 0; c < kNumCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (size_t bytes = 0; bytes <= size_t{1} << 40; bytes = bytes ? bytes * 4 : 1) {
      const Choice choice = choose_by_rules(collective, bytes, ranks, nodes, even, deterministic);
      const auto algorithm = find_algorithm(collective, choice.algorithm);
      ASSERT_TRUE(algorithm.ok()) << algorithm.status().text();
      EXPECT_TRUE(even || algorithm.value()->uneven) << choice.algorithm;
      EXPECT_TRUE(!deterministic || !reduces(collective) || algorithm.value()->rank_order)
          << choice.algorithm;
      EXPECT_NE(std::string(choice.reason), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Rules,
                         testing::Values(Case{2, 1, true, false}, Case{2, 1, false, false},
                                         Case{9, 1, true, true}, Case{8, 4, true, false},
                                         Case{8, 4, false, false}, Case{8, 4, true, true},
                                         Case{1000, 1000, true, false}, Case{1000, 1000, false, true}));

TEST(Rules, LargeDataGoesFromNodeToNodeOnce) {
  EXPECT_STREQ(choose_by_rules(Collective::broadcast, 64 << 20, 8, 4, true, false).algorithm,
               "hierarchical_chain");
  EXPECT_STREQ(choose_by_rules(Collective::broadcast, 1024, 8, 4, true, false).algorithm, "hierarchical");
}

TEST(Rules, SingleRanksServeFewPeersAtOnceAndManyByARing) {
  for (const auto collective : {Collective::all_gather, Collective::reduce_scatter}) {
    EXPECT_STREQ(choose_by_rules(collective, 1 << 20, 4, 4, true, false).algorithm, "direct");
    EXPECT_STREQ(choose_by_rules(collective, 1 << 20, 8, 8, true, false).algorithm, "ring");
    EXPECT_STREQ(choose_by_rules(collective, 64 << 10, 4, 4, true, false).algorithm, "hierarchical");
  }
  EXPECT_STREQ(choose_by_rules(Collective::all_reduce, 1 << 20, 4, 4, true, false).algorithm, "two_phase");
}

}  // namespace
}  // namespace wia
