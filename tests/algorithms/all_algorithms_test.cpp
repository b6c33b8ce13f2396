// Every algorithm, on symbols: any number of ranks, any root, in place and not, over nodes of all sorts, with
// levels inside and outside of them.
#include <gtest/gtest.h>

#include "sanitizers.hpp"
#include "symbolic.hpp"
#include "tested.hpp"

namespace wia {
namespace {

// An access that sanitizers object to shows with few ranks as well; whether schedules are right for many is
// for builds that are fast.
constexpr int kMostRanks = kMemoryIsWatched ? 13 : 33;
// Algorithms of named levels are those of the table in other places: what is new shows with few ranks.
constexpr int kMostRanksOfNamed = kMemoryIsWatched ? 9 : 17;

using UnitOfRank = std::vector<int> (*)(int ranks);
struct Layout {
  const char* name;
  std::vector<UnitOfRank> levels;  // from the innermost

  std::vector<std::vector<int>> units(int ranks) const {
    std::vector<std::vector<int>> units;
    for (const UnitOfRank unit : levels) units.push_back(unit(ranks));
    return units;
  }
};

std::vector<int> one_node(int) { return {}; }
std::vector<int> each_its_own(int ranks) {
  std::vector<int> node(ranks);
  for (int r = 0; r < ranks; ++r) node[r] = r;
  return node;
}
template <int kSize>
std::vector<int> nodes_of(int ranks) {
  std::vector<int> node(ranks);
  for (int r = 0; r < ranks; ++r) node[r] = r / kSize;
  return node;
}
// 1, 2, 3, 1, 2, 3... ranks.
std::vector<int> uneven(int ranks) {
  std::vector<int> node(ranks);
  for (int r = 0, number = 0, left = 1; r < ranks; ++r) {
    node[r] = number;
    if (--left == 0) left = ++number % 3 + 1;
  }
  return node;
}
std::vector<int> one_large(int ranks) {
  std::vector<int> node(ranks, 0);
  for (int r = 0, next = 1; r < ranks; ++r) node[r] = r % 4 == 3 ? next++ : 0;
  return node;
}
template <int kNodes>
std::vector<int> round_robin(int ranks) {
  std::vector<int> node(ranks);
  for (int r = 0; r < ranks; ++r) node[r] = r % std::min(kNodes, ranks);
  return node;
}

template <UnitOfRank kInside, int kSize>
std::vector<int> blocks_of(int ranks) {
  std::vector<int> unit = kInside(ranks);
  for (int& u : unit) u /= kSize;
  return unit;
}
std::vector<int> dealt(int ranks) {
  std::vector<int> unit = round_robin<6>(ranks);
  for (int& u : unit) u %= 2;
  return unit;
}

const Layout kLayouts[] = {
    {"one node", {one_node}},
    {"one rank each", {each_its_own}},
    {"pairs", {nodes_of<2>}},
    {"fours", {nodes_of<4>}},
    {"eights", {nodes_of<8>}},
    {"uneven", {uneven}},
    {"one large node", {one_large}},
    {"two, in turn", {round_robin<2>}},
    {"five, in turn", {round_robin<5>}},
    {"pairs in fours", {nodes_of<2>, nodes_of<4>}},
    {"pairs in sixes", {nodes_of<2>, nodes_of<6>}},
    {"uneven units by threes", {uneven, blocks_of<uneven, 3>}},
    {"one rank each, by threes", {each_its_own, nodes_of<3>}},
    {"six units, in turn, of two nodes", {round_robin<6>, dealt}},
    {"pairs in fours in eights", {nodes_of<2>, nodes_of<4>, nodes_of<8>}},
    {"uneven units by twos by twos", {uneven, blocks_of<uneven, 2>, blocks_of<uneven, 4>}},
};

bool is_hierarchical(const Algorithm& algorithm) {
  return std::string_view(algorithm.name).starts_with("hierarchical");
}

template <class Function>
void for_each_shape(const Algorithm& algorithm, int ranks, Function&& function) {
  Shape shape;
  shape.collective = algorithm.collective;
  shape.ranks = ranks;
  const int roots = has_root(algorithm.collective) ? ranks : 1;
  for (const Layout& layout : kLayouts) {
    shape.units = layout.units(ranks);
    for (shape.root = 0; shape.root < roots; ++shape.root) {
      for (const bool in_place : {false, true}) {
        for (const bool even : {true, false}) {
          if (!even && !algorithm.uneven) continue;
          shape.in_place = in_place;
          shape.even = even;
          function(shape, layout.name);
        }
      }
    }
    if (!is_hierarchical(algorithm)) return;
  }
}

class EveryAlgorithm : public ::testing::TestWithParam<const Algorithm*> {
 protected:
  static const Algorithm& algorithm() { return *GetParam(); }
  static int most_ranks() { return algorithm().row ? kMostRanksOfNamed : kMostRanks; }
  void expect_right(const Shape& shape, const char* layout, const symbolic::Options& options) {
    if (HasFailure()) return;
    symbolic::Run run([](const Shape& own) { return algorithm().build(own); }, shape, options);
    EXPECT_EQ(run.error(), "") << algorithm().name << ": " << shape.ranks << " ranks, root " << shape.root
                               << ", " << layout << (shape.in_place ? ", in place" : "")
                               << (shape.even ? "" : ", uneven") << ", capacity " << options.capacity
                               << ", slices " << options.slices << ", seed " << options.seed;
  }
};

TEST_P(EveryAlgorithm, IsRightAndHasNoRaces) {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 19, 24, 33}) {
    if (ranks > most_ranks()) break;
    for_each_shape(algorithm(), ranks, [&](const Shape& shape, const char* layout) {
      if (ranks > 13 && shape.root > 2 && shape.root < ranks - 1) return;
      expect_right(shape, layout,
                   {.seed = static_cast<uint64_t>(ranks), .rank_order = algorithm().rank_order});
    });
  }
}

// Slices in flight share channels: 16 messages for 8 slices is what there is at least.
TEST_P(EveryAlgorithm, HasNoDeadlocks) {
  for (const int ranks : {2, 3, 4, 5, 7, 8, 11, 13, 16, 20}) {
    if (ranks > most_ranks()) break;
    for_each_shape(algorithm(), ranks, [&](const Shape& shape, const char* layout) {
      if (shape.root > 1 && shape.root < ranks - 1) return;
      if (ranks > 8 && (shape.in_place || !shape.even)) return;
      const auto seed = static_cast<uint64_t>(ranks);
      expect_right(shape, layout, {.slices = 12, .window = 8, .in_order = true, .seed = seed});
      for (uint64_t more = 1; more <= 4; ++more) {
        expect_right(shape, layout,
                     {.slices = 20, .window = 8, .in_order = true, .seed = seed + more, .priorities = true});
      }
      expect_right(shape, layout, {.slices = 3, .window = 2, .capacity = 4, .in_order = true, .seed = seed});
      expect_right(shape, layout, {.slices = 1, .window = 1, .capacity = 2, .in_order = true, .seed = seed});
    });
  }
}

TEST_P(EveryAlgorithm, BuildsForAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= most_ranks(); ++ranks) {
    for_each_shape(algorithm(), ranks, [&](Shape shape, const char* layout) {
      for (shape.rank = 0; shape.rank < ranks; ++shape.rank) {
        const auto schedule = algorithm().build(shape);
        ASSERT_TRUE(schedule.ok()) << ranks << " ranks, rank " << shape.rank << ", root " << shape.root
                                   << ", " << layout << ": " << schedule.status().text();
      }
    });
  }
}

TEST_P(EveryAlgorithm, SaysWhatItNeeds) {
  if (algorithm().uneven) return;
  Shape shape;
  shape.collective = algorithm().collective;
  shape.ranks = 4;
  shape.even = false;
  const auto schedule = algorithm().build(shape);
  ASSERT_FALSE(schedule.ok());
  EXPECT_EQ(schedule.status().code(), Code::unsupported);
  EXPECT_NE(schedule.status().text().find("equal length"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Table, EveryAlgorithm, ::testing::ValuesIn(tested_algorithms()),
                         [](const auto& tested) { return test_name(*tested.param); });

TEST(Table, FindsByName) {
  auto ring = find_algorithm(Collective::all_reduce, "ring");
  ASSERT_TRUE(ring.ok());
  EXPECT_EQ((*ring)->collective, Collective::all_reduce);
  const auto none = find_algorithm(Collective::scatter, "ring");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().text(), "scatter has no algorithm \"ring\"; there are: direct, knomial");
}

TEST(Table, NamesDiffer) {
  for (const Algorithm& a : all_algorithms()) {
    int same = 0;
    for (const Algorithm* b : algorithms_of(a.collective)) same += std::string_view(a.name) == b->name;
    EXPECT_EQ(same, 1) << a.name;
  }
}

}  // namespace
}  // namespace wia
