// The arithmetic of rings, trees and cubes.
#include "algorithms/peers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace wia {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Around, CountsAroundTheEnd) {
  EXPECT_EQ(around(-1, 5), 4);
  EXPECT_EQ(around(-5, 5), 0);
  EXPECT_EQ(around(4, 5), 4);
  EXPECT_EQ(around(5, 5), 0);
}

TEST(Meetings, EveryoneMeetsEveryoneOnce) {
  for (int n = 1; n <= 40; ++n) {
    for (int i = 0; i < n; ++i) {
      std::set<int> met;
      for (int meeting = 0; meeting < n; ++meeting) {
        const int partner = meeting_partner(i, meeting, n);
        EXPECT_EQ(meeting_partner(partner, meeting, n), i);
        met.insert(partner);
      }
      EXPECT_EQ(met.size(), static_cast<size_t>(n));
    }
  }
}

TEST(PowersOfTwo, AreFound) {
  EXPECT_TRUE(is_power_of_two(1));
  EXPECT_TRUE(is_power_of_two(64));
  EXPECT_FALSE(is_power_of_two(48));
  EXPECT_EQ(floor_power_of_two(1), 1);
  EXPECT_EQ(floor_power_of_two(63), 32);
  EXPECT_EQ(ceil_log2(1), 0);
  EXPECT_EQ(ceil_log2(2), 1);
  EXPECT_EQ(ceil_log2(5), 3);
  EXPECT_EQ(ceil_log2(8), 3);
}

TEST(Folding, PutsEveryMemberOnACorner) {
  for (int n = 1; n <= 70; ++n) {
    const Folding folding(n);
    std::vector<int> on_corner(folding.core(), 0);
    for (int member = 0; member < n; ++member) {
      const int corner = folding.corner_of(member);
      ASSERT_LT(corner, folding.core());
      ++on_corner[corner];
      if (folding.is_extra(member)) {
        EXPECT_EQ(folding.member_at(corner), member - 1);
        EXPECT_TRUE(folding.has_extra(member - 1));
      } else {
        EXPECT_EQ(folding.member_at(corner), member);
      }
    }
    for (int corner = 0; corner < folding.core(); ++corner) {
      EXPECT_EQ(on_corner[corner], folding.has_extra(folding.member_at(corner)) ? 2 : 1);
    }
  }
}

TEST(Counts, GrowToAll) {
  EXPECT_THAT(doubling_counts(1), ElementsAre(1));
  EXPECT_THAT(doubling_counts(11), ElementsAre(1, 2, 4, 8, 11));
  EXPECT_THAT(doubling_counts(8), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(halving_counts(1), ElementsAre(1));
  EXPECT_THAT(halving_counts(11), ElementsAre(1, 2, 3, 6, 11));
  EXPECT_THAT(halving_counts(8), ElementsAre(1, 2, 4, 8));
}

TEST(Counts, AtMostDoubleInTheFewestRounds) {
  for (int n = 1; n <= 300; ++n) {
    for (const std::vector<int>& counts : {doubling_counts(n), halving_counts(n)}) {
      EXPECT_EQ(counts.size(), static_cast<size_t>(ceil_log2(n)) + 1);
      EXPECT_EQ(counts.front(), 1);
      EXPECT_EQ(counts.back(), n);
      for (size_t i = 1; i < counts.size(); ++i) {
        EXPECT_GT(counts[i], counts[i - 1]);
        EXPECT_LE(counts[i], 2 * counts[i - 1]);
      }
    }
  }
}

TEST(Knomial, BinomialTreeOfEight) {
  const auto roots = [](int member) {
    std::vector<int> found;
    for (const Subtree& child : knomial_children(member, 8, 2)) found.push_back(child.root);
    return found;
  };
  EXPECT_THAT(roots(0), ElementsAre(4, 2, 1));
  EXPECT_THAT(roots(4), ElementsAre(6, 5));
  EXPECT_THAT(roots(6), ElementsAre(7));
  EXPECT_THAT(roots(7), IsEmpty());
}

TEST(Knomial, ChildrenAndParentsAgreeAndSubtreesTile) {
  for (const int radix : {2, 3, 4, 8}) {
    for (int n = 1; n <= 100; ++n) {
      std::vector<int> times_child(n, 0);
      for (int member = 0; member < n; ++member) {
        int below = 0;
        for (const Subtree& child : knomial_children(member, n, radix)) {
          ASSERT_LE(child.root + child.size, n);
          EXPECT_EQ(knomial_parent(child.root, radix), member);
          int size = 1;
          for (const Subtree& grandchild : knomial_children(child.root, n, radix)) size += grandchild.size;
          EXPECT_EQ(size, child.size);
          ++times_child[child.root];
          below += child.size;
        }
        EXPECT_TRUE(member > 0 || below == n - 1);
      }
      EXPECT_EQ(knomial_parent(0, radix), -1);
      for (int member = 1; member < n; ++member) EXPECT_EQ(times_child[member], 1);
    }
  }
}

TEST(DoubleTree, IsTwoTreesOfLogarithmicHeight) {
  for (int n = 1; n <= 130; ++n) {
    for (const int tree : {0, 1}) {
      int roots = 0;
      for (int member = 0; member < n; ++member) {
        const TreePlace place = double_tree_place(member, n, tree);
        if (place.parent < 0) {
          ++roots;
          EXPECT_EQ(double_tree_root(n, tree), member);
        }
        for (const int child : place.children) {
          EXPECT_TRUE(child < 0 || double_tree_place(child, n, tree).parent == member);
        }
        if (place.parent >= 0) {
          const auto siblings = double_tree_place(place.parent, n, tree).children;
          EXPECT_EQ((siblings[0] == member) + (siblings[1] == member), 1);
        }
        int height = 0;
        for (int up = member; (up = double_tree_place(up, n, tree).parent) >= 0;) ++height;
        EXPECT_LE(height, ceil_log2(n + 1));
      }
      EXPECT_EQ(roots, 1);
    }
  }
}

TEST(DoubleTree, NobodyHasChildrenInBoth) {
  for (int n = 1; n <= 130; ++n) {
    for (int member = 0; member < n; ++member) {
      EXPECT_TRUE(double_tree_place(member, n, 0).leaf() || double_tree_place(member, n, 1).leaf());
    }
  }
}

}  // namespace
}  // namespace wia
