#include "topology/discover.hpp"

#include <gmock/gmock.h>

#include "base/machine.hpp"
#include "topology/fake_sysfs.hpp"

namespace wia {
namespace {

using testing::ElementsAre;

// Machines that are not this one; accelerators come from NVML, which knows only this one.
bool has_accelerators() {
  const Host host = discover_host("");
  return !host.devices.empty() && host.devices[0].accelerator;
}

TEST(Discover, NumaNodesAreDevices) {
  if (has_accelerators()) GTEST_SKIP() << "the devices of this machine are accelerators";
  const FakeSysfs fake;
  const Topology topology = discover_devices("", {fake.root(), "numa:2 core:3 pu:1"});
  const Host& host = topology.hosts.at(0);
  ASSERT_EQ(host.numa_nodes.size(), 2u);
  EXPECT_THAT(host.numa_nodes[1].cpus, ElementsAre(3, 4, 5));
  ASSERT_EQ(topology.size(), 2);
  EXPECT_TRUE(topology.of_devices);
  EXPECT_EQ(host.devices[1].numa_node, 1);
  EXPECT_EQ(topology.link(0, 1).type, LinkType::numa);
  EXPECT_EQ(topology.link(1, 1).type, LinkType::self);
  EXPECT_EQ(topology.link(0, 1).peer_access, true);
  EXPECT_EQ(topology.link(0, 1).bandwidth.value, std::nullopt);
}

// A container whose /sys is empty.
TEST(Discover, WithoutSysfsNicsHaveNoFacts) {
  const FakeSysfs fake;
  for (const Nic& nic : discover_host("", {fake.root(), ""}).nics) {
    EXPECT_FALSE(nic.name.empty());
    EXPECT_EQ(nic.speed_mbps, std::nullopt);
    EXPECT_EQ(nic.numa_node, std::nullopt);
    EXPECT_EQ(nic.pci, "");
  }
}

TEST(Discover, NothingIsFatal) {
  if (has_accelerators()) GTEST_SKIP() << "the devices of this machine are accelerators";
  const FakeSysfs fake;
  const Topology topology = discover_devices("no-such-nic", {fake.root(), "no description"});
  EXPECT_THAT(topology.hosts.at(0).used_nics, testing::IsEmpty());
  ASSERT_GE(topology.size(), 1);
  EXPECT_EQ(topology.link(0, 0).type, LinkType::self);
}

TEST(Discover, ThisProcess) {
  const Host host = discover_host("");
  EXPECT_FALSE(host.id.empty());
  EXPECT_EQ(host.id, discover_host("").id);
  const LinkEnd self = discover_endpoint(host);
  EXPECT_EQ(self.cpus, affinity());
  if (self.device) {
    EXPECT_EQ(host.devices.at(static_cast<size_t>(*self.device)).numa_node, self.numa_node);
  }
  Host without = host;
  without.numa_nodes.clear();
  EXPECT_EQ(discover_endpoint(without).numa_node, std::nullopt);
}

}  // namespace
}  // namespace wia
