// Teams, blocks and levels: what phases are described with.
#include "algorithms/phase.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/levels.hpp"
#include "algorithms/phases.hpp"

namespace wia {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Run run(uint32_t first, uint32_t count) { return {first, count}; }

std::vector<Run> joined(const Blocks& blocks, int first, int count) {
  std::vector<Run> runs;
  blocks.for_each_run(first, count, [&](Run run) { runs.push_back(run); });
  return runs;
}

TEST(Blocks, OneEach) {
  const Blocks blocks = Blocks::one_each(5);
  EXPECT_EQ(blocks.members(), 5);
  EXPECT_EQ(blocks.most_runs(), 1u);
  EXPECT_EQ(blocks.range(), (run(0, 5)));
  EXPECT_THAT(joined(blocks, 1, 3), ElementsAre(run(1, 3)));
  EXPECT_THAT(joined(blocks, 3, 4), ElementsAre(run(3, 2), run(0, 2)));
  EXPECT_THAT(joined(blocks, 2, 0), IsEmpty());
}

TEST(Blocks, OfScatteredChunks) {
  const Blocks blocks({{4, 5, 9}, {}, {10, 2}});
  EXPECT_THAT(blocks.of(0), ElementsAre(run(4, 2), run(9, 1)));
  EXPECT_THAT(blocks.of(1), IsEmpty());
  EXPECT_EQ(blocks.most_runs(), 2u);
  EXPECT_EQ(blocks.range(), (run(2, 9)));
  EXPECT_EQ(blocks.range_of(0), (run(4, 6)));
  EXPECT_EQ(blocks.range_of(1), (run(0, 0)));
  EXPECT_THAT(joined(blocks, 0, 3), ElementsAre(run(4, 2), run(9, 2), run(2, 1)));
}

Levels levels_of(std::vector<std::vector<int>> units, int rank = 0) {
  Shape shape;
  shape.ranks = static_cast<int>(units.at(0).size());
  shape.rank = rank;
  shape.units = std::move(units);
  return Levels(shape);
}

TEST(Levels, WithoutInformationAreOne) {
  Shape shape;
  shape.ranks = 3;
  const Levels levels(shape);
  EXPECT_EQ(levels.count(), 1);
  EXPECT_EQ(levels.width(0), 3);
  EXPECT_THAT(levels.ranks_of(0, 0), ElementsAre(0, 1, 2));
}

TEST(Levels, OfOneNodeAreOne) { EXPECT_EQ(levels_of({{0, 0, 0}, {0, 0, 0}}).count(), 1); }

TEST(Levels, OfOneSizeHaveAColumnForEachRank) {
  const Levels levels = levels_of({{0, 1, 0, 1, 0, 1}}, 3);
  EXPECT_EQ(levels.count(), 2);
  EXPECT_EQ(levels.width(0), 3);
  EXPECT_EQ(levels.width(1), 2);
  EXPECT_EQ(levels.my_unit(0), 1);
  EXPECT_THAT(levels.ranks_of(0, 1), ElementsAre(1, 3, 5));
  EXPECT_EQ(levels.team(0, {}).me, 1);
  EXPECT_THAT(levels.team(1, {2}).ranks, ElementsAre(4, 5));
  EXPECT_EQ(levels.path_of(3), (Levels::Path{1, 1}));
}

TEST(Levels, UnitsWithFewRanksServeSeveralColumns) {
  const std::vector<int> node = {0, 0, 0, 0, 0, 1, 1, 2};
  EXPECT_EQ(levels_of({node}, 7).my_paths(1).size(), 5u);
  EXPECT_EQ(levels_of({node}, 5).my_paths(1).size() + levels_of({node}, 6).my_paths(1).size(), 5u);
}

// Four ranks a node, two a socket; two nodes a switch.
TEST(Levels, NestedHaveTeamsOfOneRankAUnit) {
  std::vector<std::vector<int>> units(3);
  for (int rank = 0; rank < 16; ++rank) {
    units[0].push_back(rank / 2);
    units[1].push_back(rank / 4);
    units[2].push_back(rank / 8);
  }
  const Levels levels = levels_of(units, 13);
  EXPECT_EQ(levels.count(), 4);
  EXPECT_EQ(levels.path_of(13), (Levels::Path{1, 0, 1, 1}));
  EXPECT_THAT(levels.team(0, {}).ranks, ElementsAre(12, 13));
  EXPECT_THAT(levels.team(1, {1}).ranks, ElementsAre(13, 15));
  EXPECT_THAT(levels.team(2, {1, 0}).ranks, ElementsAre(9, 13));
  EXPECT_THAT(levels.team(3, {1, 0, 1}).ranks, ElementsAre(5, 13));
  EXPECT_EQ(levels.all_paths(3).size(), 8u);
  EXPECT_EQ(levels.my_paths(3), (std::vector<Levels::Path>{{1, 0, 1}}));
}

TEST(Levels, EveryPathHasOneServerInEachUnit) {
  const std::vector<std::vector<std::vector<int>>> layouts = {
      {{0, 0, 0, 1, 2, 2}},
      {{0, 1, 2, 2, 2, 2, 1, 0, 0, 2}},
      {{0, 1, 2, 2, 3, 3, 3, 4, 0}, {0, 0, 0, 0, 1, 1, 1, 0, 0}}};
  for (const auto& units : layouts) {
    const int ranks = static_cast<int>(units[0].size());
    for (int level = 1; level <= static_cast<int>(units.size()); ++level) {
      std::vector<int> served(units[level - 1].size(), 0);
      for (int rank = 0; rank < ranks; ++rank) {
        const Levels levels = levels_of(units, rank);
        for (const Levels::Path& path : levels.my_paths(level)) {
          ++served[levels.my_unit(level - 1)];
          EXPECT_EQ(levels.server(level - 1, levels.my_unit(level - 1), path), rank);
        }
      }
      const size_t paths = levels_of(units).all_paths(level).size();
      for (const int unit : units[level - 1]) EXPECT_EQ(served[unit], static_cast<int>(paths));
    }
  }
}

// A column's chunks arrive while the next are on their way: each is waited for alone.
TEST(Sharing, SendsWhatHasArrived) {
  Shape shape;
  shape.collective = Collective::all_gather;
  shape.ranks = 2;
  Builder builder(shape);
  const Team team = whole_group(shape);
  Flow across(builder, team, Buffer::output, {0, 1}, 0);
  Arrivals arrivals(1);
  across.note(arrivals);
  across.recv(1, run(1, 1), Place{output(0)});
  across.recv(1, run(0, 1), Place{output(0)});
  Flow inside(builder, team, Buffer::output, {2, 3}, 2);
  share_directly(inside, Blocks({{1, 0}, {}}), Place{output(0)}, Place{output(0)}, {-1, &arrivals});
  EXPECT_EQ(std::move(builder).finish()->text(),
            "lane 0: recv output[1] <- rank 1  tag 1\n"
            "lane 0: recv output[0] <- rank 1  tag 0\n"
            "lane 1: send output[1] -> rank 1  tag 3  after 1 steps of lane 0\n"
            "lane 1: send output[0] -> rank 1  tag 2  after 2 steps of lane 0\n");
}

}  // namespace
}  // namespace wia
