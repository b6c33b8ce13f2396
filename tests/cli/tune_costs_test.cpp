// From measured links to the costs of the model.
#include "cli/tune_costs.hpp"

#include <gmock/gmock.h>

namespace wia {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Ranks on hosts; links within hosts 1 us and 10 GB/s, between them 20 us and 2 GB/s, one of them slow.
Topology topology(const std::vector<int>& hosts) {
  Topology topology;
  topology.hosts.resize(static_cast<size_t>(hosts.back()) + 1);
  for (size_t source = 0; source < hosts.size(); ++source) {
    topology.endpoints.push_back({hosts[source], {}, {}, {}});
    for (size_t target = 0; target < hosts.size(); ++target) {
      Link link;
      link.source = static_cast<int>(source);
      link.target = static_cast<int>(target);
      const bool near = hosts[source] == hosts[target];
      link.latency = Figure::reported(source == target ? 0 : near ? 1 : 20, "");
      link.bandwidth = Figure::reported(source == target ? 99 : near ? 10 : 2, "");
      topology.links.push_back(link);
    }
  }
  topology.link(0, static_cast<int>(hosts.size()) - 1).bandwidth.value = 0.1;
  return topology;
}

TEST(TuneCosts, NodesAreHostsOrImposedOrRanks) {
  const Topology two = topology({0, 0, 1, 1});
  EXPECT_THAT(cli::nodes_of(two, 2, 0), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(cli::nodes_of(two, 4, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(cli::nodes_of(two, 2, 3), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(cli::nodes_of(two, 3, 0), IsEmpty());  // nobody knows which
}

TEST(TuneCosts, MediansWithinAndBetweenNodes) {
  const auto costs = cli::costs_of(topology({0, 0, 1, 1}), {0, 0, 1, 1});
  ASSERT_TRUE(costs);
  EXPECT_EQ(costs->node, (WayCost{1, 10}));
  EXPECT_EQ(costs->network, (WayCost{20, 2}));
  const auto alone = cli::costs_of(topology({0, 0, 0}), {0, 0, 0});
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->node, (WayCost{1, 10}));
  EXPECT_FALSE(alone->network);
  EXPECT_FALSE(cli::costs_of(topology({0}), {0}));
  EXPECT_FALSE(cli::costs_of(topology({0, 1}), {}));
}

}  // namespace
}  // namespace wia
