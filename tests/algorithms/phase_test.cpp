// Teams, blocks and columns: what phases are described with.
#include "algorithms/phase.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/nodes.hpp"
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

Nodes nodes_of(std::vector<int> node, int rank = 0) {
  Shape shape;
  shape.ranks = static_cast<int>(node.size());
  shape.rank = rank;
  shape.node = std::move(node);
  return Nodes(shape);
}

TEST(Nodes, WithoutInformationAreOne) {
  Shape shape;
  shape.ranks = 3;
  const Nodes nodes(shape);
  EXPECT_EQ(nodes.count(), 1);
  EXPECT_EQ(nodes.columns(), 3);
  EXPECT_THAT(nodes.ranks_of(0), ElementsAre(0, 1, 2));
}

TEST(Nodes, OfOneSizeHaveAColumnForEachRank) {
  const Nodes nodes = nodes_of({0, 1, 0, 1, 0, 1}, 3);
  EXPECT_EQ(nodes.columns(), 3);
  EXPECT_EQ(nodes.my_node(), 1);
  EXPECT_THAT(nodes.ranks_of(1), ElementsAre(1, 3, 5));
  EXPECT_EQ(nodes.my_node_team().me, 1);
  EXPECT_THAT(nodes.column_team(2).ranks, ElementsAre(4, 5));
  EXPECT_EQ(nodes.column_of(3), 1);
}

TEST(Nodes, WithFewRanksServeSeveralColumns) {
  const Nodes nodes = nodes_of({0, 0, 0, 0, 0, 1, 1, 2});
  EXPECT_EQ(nodes.columns(), 5);
  EXPECT_EQ(nodes.served_by(7).count, 5);
  EXPECT_EQ(nodes.served_by(5).count + nodes.served_by(6).count, 5);
}

TEST(Nodes, EveryColumnHasOneServerInEachNode) {
  for (const std::vector<int>& node : {std::vector<int>{0, 0, 0, 1, 2, 2}, {0, 1, 2, 2, 2, 2, 1, 0, 0, 2}}) {
    const Nodes nodes = nodes_of(node);
    for (int column = 0; column < nodes.columns(); ++column) {
      for (int n = 0; n < nodes.count(); ++n) {
        const int server = nodes.server(n, column);
        const Nodes::Range served = nodes.served_by(server);
        EXPECT_EQ(nodes.node_of(server), n);
        EXPECT_GE(column, served.first);
        EXPECT_LT(column, served.first + served.count);
      }
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
