#include "topology/accelerators.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "cli/command.hpp"
#include "topology/file.hpp"

namespace wia {
namespace {

TEST(Accelerators, PciAddressAsInSysfs) {
  EXPECT_EQ(pci_as_in_sysfs("00000000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(pci_as_in_sysfs("0000:3B:00.0"), "0000:3b:00.0");
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
