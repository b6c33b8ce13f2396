#include "topology/accelerators.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "cli/command.hpp"
#include "topology/fake_sysfs.hpp"
#include "topology/file.hpp"

namespace wia {
namespace {

TEST(Accelerators, PciAddressAsInSysfs) {
  EXPECT_EQ(pci_as_in_sysfs("00000000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(pci_as_in_sysfs("0000:3B:00.0"), "0000:3b:00.0");
}

// A CPU and three accelerators: 1 and 2 joined by XGMI, 3 by PCIe.
TEST(Accelerators, AmdkfdTellsDevicesAndLinks) {
  FakeSysfs fake;
  const std::string nodes = "class/kfd/kfd/topology/nodes/";
  fake.write(nodes + "0/properties", "cpu_cores_count 64\nsimd_count 0");
  for (int node = 1; node <= 3; ++node) {
    const std::string directory = nodes + std::to_string(node);
    fake.write(directory + "/properties",
               "simd_count 440\ndomain 0\nlocation_id " + std::to_string(0xc100 + node * 8));
    fake.write(directory + "/io_links/0/properties", "type 2\nnode_to 0\nmax_bandwidth 32000");
  }
  fake.write(nodes + "1/name", "aldebaran");
  fake.write(nodes + "1/io_links/1/properties", "type 11\nnode_to 2\nmax_bandwidth 200000");
  fake.write(nodes + "2/io_links/1/properties", "type 11\nnode_to 1\nmax_bandwidth 0");
  fake.write(nodes + "1/p2p_links/0/properties", "type 2\nnode_to 3\nmax_bandwidth 16000");
  fake.write("devices/pci0/0000:c1:01.0/numa_node", "1");
  fake.link("bus/pci/devices/0000:c1:01.0", "devices/pci0/0000:c1:01.0");

  const Accelerators found = discover_amd_accelerators(fake.root());
  ASSERT_EQ(found.devices.size(), 3u);
  EXPECT_EQ(found.devices[0].name, "aldebaran");
  EXPECT_EQ(found.devices[1].name, "accelerator");
  EXPECT_EQ(found.devices[0].pci, "0000:c1:01.0");
  EXPECT_EQ(found.devices[0].numa_node, 1);
  EXPECT_EQ(found.devices[1].numa_node, std::nullopt);
  ASSERT_EQ(found.links.size(), 9u);
  EXPECT_EQ(found.links[0].type, LinkType::self);
  EXPECT_EQ(found.links[1].type, LinkType::xgmi);
  EXPECT_EQ(found.links[1].bandwidth.value, 200);
  EXPECT_EQ(found.links[1].bandwidth.evidence, Evidence::reported);
  EXPECT_EQ(found.links[3].type, LinkType::xgmi);
  EXPECT_EQ(found.links[3].bandwidth.value, std::nullopt);
  EXPECT_EQ(found.links[2].type, LinkType::pcie);
  EXPECT_EQ(found.links[2].bandwidth.value, 16);
  EXPECT_EQ(found.links[2].peer_access, std::nullopt);
  EXPECT_TRUE(discover_amd_accelerators(fake.root() + "/none").devices.empty());
}

// `wia topology` where NVML is the one of fake_nvml.c.
TEST(Accelerators, NvmlTellsDevicesAndLinks) {
  setenv("LD_LIBRARY_PATH", WIA_BINARY_DIR "/tests/topology", 1);
  Command command({"topology", "--json", "-"});
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_EQ(command.wait(), 0) << command.error;
  const auto read = topology_from_text(command.output, "output");
  ASSERT_TRUE(read.ok()) << read.status().text();
  const Topology& topology = read.value();
  ASSERT_EQ(topology.size(), 4);
  const std::vector<Device>& devices = topology.hosts[0].devices;
  EXPECT_TRUE(devices[0].accelerator);
  EXPECT_EQ(devices[1].name, "Fake 1");
  EXPECT_EQ(devices[1].pci, "0000:fb:00.0");
  EXPECT_EQ(devices[3].name, "accelerator");
  EXPECT_EQ(devices[3].pci, "");

  EXPECT_EQ(topology.link(0, 0).type, LinkType::self);
  EXPECT_EQ(topology.link(0, 1).type, LinkType::nvlink);
  EXPECT_EQ(topology.link(0, 1).bandwidth, Figure::reported(100, "NVML: active NVLinks times their speed"));
  EXPECT_EQ(topology.link(0, 1).peer_access, true);
  EXPECT_EQ(topology.link(2, 0).type, LinkType::pcie);
  EXPECT_EQ(topology.link(2, 0).bandwidth.evidence, Evidence::reported);
  EXPECT_NEAR(topology.link(2, 0).bandwidth.value.value_or(0), 31.5, 0.1);
  EXPECT_EQ(topology.link(3, 0).bandwidth.value, std::nullopt);
  EXPECT_EQ(topology.link(3, 0).peer_access, std::nullopt);
}

}  // namespace
}  // namespace wia
