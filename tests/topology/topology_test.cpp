#include "topology/topology.hpp"

#include <gmock/gmock.h>

#include "topology/examples.hpp"

namespace wia {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Topology, HierarchyOfLinks) {
  std::vector<std::string> levels;
  for (int type = 0; type < kNumLinkTypes; ++type) {
    const auto each = static_cast<LinkType>(type);
    EXPECT_EQ(parse_link_type(link_type_name(each)), each);
    levels.emplace_back(level_name(level_of(each)));
  }
  EXPECT_THAT(levels,
              ElementsAre("device", "node link", "node link", "PCIe", "node link", "node link", "network"));
  EXPECT_LT(LinkLevel::device, LinkLevel::node_link);
  EXPECT_LT(LinkLevel::pcie, LinkLevel::network);
  EXPECT_EQ(parse_link_type("nvlink"), std::nullopt);
}

TEST(Topology, RanksOfAHostShareIt) {
  const Topology topology = example_topology(6);
  ASSERT_EQ(topology.hosts.size(), 2u);
  EXPECT_THAT(topology.hosts[0].cpus, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(topology.hosts[1].cpus, ElementsAre(0, 1));
  ASSERT_EQ(topology.links.size(), 36u);
  EXPECT_EQ(topology.link(2, 2).type, LinkType::self);
  EXPECT_EQ(topology.link(0, 1).type, LinkType::shm);
  EXPECT_EQ(topology.link(1, 2).type, LinkType::numa);
  EXPECT_EQ(topology.link(3, 4).type, LinkType::network);
  EXPECT_EQ(topology.link(0, 1).peer_access, true);
  EXPECT_EQ(topology.link(3, 4).peer_access, false);
}

TEST(Topology, UnknownNumaNodesAreNoObstacle) {
  std::vector<TopologyPart> parts = {example_part(0), example_part(2)};
  parts[1].endpoint.numa_node.reset();
  EXPECT_EQ(merge(parts).link(0, 1).type, LinkType::shm);
}

TEST(Topology, NetworkIsRatedByTheSlowerSide) {
  std::vector<TopologyPart> parts = {example_part(0), example_part(4)};
  parts[0].host.nics.push_back(example_nic("eth1", 10'000));
  parts[0].host.used_nics.emplace_back("eth1");
  Topology topology = merge(parts);
  EXPECT_EQ(topology.link(0, 1).bandwidth,
            Figure::reported(1.25, "/sys/class/net/eth0/speed"));  // 2.5 GB/s to 1.25
  EXPECT_EQ(topology.link(0, 1).bandwidth, topology.link(1, 0).bandwidth);
  parts[1].host.nics[0].speed_mbps.reset();
  topology = merge(parts);
  EXPECT_EQ(topology.link(0, 1).rated, std::nullopt);
  EXPECT_EQ(topology.link(0, 1).bandwidth.value, std::nullopt);
}

TEST(Topology, ALinkIsHeldToTheNicsThatCarriedIt) {
  std::vector<TopologyPart> parts = {example_part(0), example_part(4)};
  for (TopologyPart& part : parts) {
    part.host.nics.push_back(example_nic("eth1", 10'000));
    part.host.used_nics.emplace_back("eth1");
  }
  parts[0].links = {measured_link(0, 1, 1.2, 20)};
  EXPECT_EQ(far_below_rated(merge(parts)).size(), 1u);  // of both
  parts[0].links[0].nics = {"eth1"};
  EXPECT_TRUE(far_below_rated(merge(parts)).empty());
  EXPECT_EQ(merge(parts).link(0, 1).rated, Figure::reported(1.25, "/sys/class/net/eth1/speed"));
}

TEST(Topology, MeasuredFarBelowRatedIsPointedOut) {
  const Topology topology = example_topology(
      5, {measured_link(0, 4, 0.5, 20), measured_link(4, 0, 1.1, 20), measured_link(0, 1, 0.1, 1)});
  EXPECT_THAT(far_below_rated(topology),
              ElementsAre("0 -> 4: measured 0.5 GB/s, 40 % of the 1.25 GB/s of /sys/class/net/eth0/speed"));
}

TEST(Topology, ASampleOfManyRanksHasEveryKind) {
  const Topology topology = example_topology(20);
  EXPECT_EQ(pairs_to_measure(topology, 20).size(), 400u);
  const auto pairs = pairs_to_measure(topology, 16);
  // Of each of 5 hosts SELF, SHM and NUMA, and 20 pairs of hosts.
  EXPECT_EQ(pairs.size(), 35u);
  EXPECT_THAT(pairs, testing::IsSupersetOf({std::pair(0, 0), {0, 1}, {0, 2}, {0, 4}, {4, 0}, {16, 12}}));
  EXPECT_THAT(pairs, testing::Not(testing::Contains(std::pair(1, 5))));
}

TEST(Topology, OfManyHostsNeighboursAreMeasured) {
  const auto pairs = pairs_to_measure(example_topology(80), 16);
  EXPECT_EQ(pairs.size(), 20u * (3 + 2));
  EXPECT_THAT(pairs, testing::IsSupersetOf({std::pair(0, 4), {0, 76}, {76, 0}}));
}

TEST(Topology, UnmeasuredLinksAreAssumedToBeAsThoseThatAreAlike) {
  Topology topology = example_topology(8, {measured_link(0, 1, 40, 0.2), measured_link(4, 5, 30, 0.3)});
  assume_unmeasured(topology);
  EXPECT_EQ(topology.link(2, 3).bandwidth, Figure::assumed(40, "as measured from 0 to 1"));
  EXPECT_EQ(topology.link(6, 7).latency, Figure::assumed(0.3, "as measured from 4 to 5"));
  EXPECT_EQ(topology.link(0, 2).bandwidth.value, std::nullopt);           // NUMA: none was measured
  EXPECT_EQ(topology.link(0, 4).bandwidth.evidence, Evidence::reported);  // better than assumed
  EXPECT_EQ(topology.link(0, 1).bandwidth.evidence, Evidence::measured);
}

TEST(Topology, AForeignPartChangesNothingElse) {
  const Topology topology = example_topology(2, {measured_link(0, 7, 1, 1)});
  EXPECT_EQ(topology.links.size(), 4u);
}

}  // namespace
}  // namespace wia
