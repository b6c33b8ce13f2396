#include "topology/nics.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>

#include "topology/fake_sysfs.hpp"
#include "topology/sysfs.hpp"

namespace wia {
namespace {

using testing::AllOf;
using testing::HasSubstr;

NicAddress address(const std::string& text) {
  NicAddress made;
  made.family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
  made.prefix_length = made.family == AF_INET ? 24 : 64;
  EXPECT_EQ(inet_pton(made.family, text.c_str(), made.bytes), 1) << text;
  return made;
}

// One that is up, with these addresses.
Nic nic(const std::string& name, const std::vector<std::string>& addresses = {"10.0.0.1"}) {
  Nic made;
  made.name = name;
  made.up = true;
  made.loopback = name == "lo";
  for (const std::string& each : addresses) made.addresses.push_back(address(each));
  return made;
}

// A host with all that gets in the way.
std::vector<Nic> crowded_host() {
  std::vector<Nic> nics = {nic("lo", {"127.0.0.1", "::1"}),
                           nic("eth10"),
                           nic("eth2", {"fd00::2"}),
                           nic("docker0", {"172.17.0.1"}),
                           nic("eth0.5"),
                           nic("eth0", {"10.0.0.1", "fe80::1"}),
                           nic("lan", {"10.0.2.1"}),
                           nic("ib0", {"fe80::5"}),
                           nic("eth3", {}),
                           nic("eth4")};
  for (Nic& each : nics) {
    if (each.name == "lan") each.bridge = true;
    if (each.name == "eth4") each.up = false;
  }
  return nics;
}

std::string names(const std::vector<Nic>& nics) {
  std::string text;
  for (const Nic& each : nics) text += (text.empty() ? "" : " ") + each.name;
  return text;
}

struct RuleCase {
  const char *rule, *chosen;
};
void PrintTo(const RuleCase& c, std::ostream* out) { *out << '"' << c.rule << '"'; }

class RuleTest : public testing::TestWithParam<RuleCase> {};

TEST_P(RuleTest, Chooses) {
  const auto chosen = select_nics(crowded_host(), GetParam().rule);
  ASSERT_TRUE(chosen.ok()) << chosen.status().text();
  EXPECT_EQ(names(chosen.value()), GetParam().chosen);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RuleTest,
    testing::Values(RuleCase{"", "eth0 eth0.5 eth2 eth10"}, RuleCase{"  ", "eth0 eth0.5 eth2 eth10"},
                    RuleCase{"eth", "eth0 eth0.5 eth2 eth10"},  // eth3 has no address, eth4 is down
                    RuleCase{"eth0", "eth0"},                   // the name of one: not eth0.5
                    RuleCase{"=eth0", "eth0"}, RuleCase{"eth0.", "eth0.5"}, RuleCase{"eth1", "eth10"},
                    RuleCase{"eth10,eth2", "eth2 eth10"}, RuleCase{"eth10, eth2", "eth2 eth10"},
                    RuleCase{"eth,^eth1", "eth0 eth0.5 eth2"}, RuleCase{"^eth1", "eth0 eth0.5 eth2"},
                    RuleCase{"^eth0", "eth0.5 eth2 eth10"}, RuleCase{"^=eth0.5", "eth0 eth2 eth10"},
                    RuleCase{"^docker", "eth0 eth0.5 eth2 eth10"}, RuleCase{"^eth0,^eth0.,^eth1", "eth2"},
                    // What is asked for by name is taken, decoy or not.
                    RuleCase{"docker0", "docker0"}, RuleCase{"lo", "lo"}, RuleCase{"ib", "ib0"},
                    RuleCase{"lan,lo", "lan lo"}));

TEST(SelectNics, RuleThatLeavesNothingListsWhatExists) {
  for (const char* rule : {"wlan", "=eth1", "eth3", "eth4", "eth,^eth", "^eth"}) {
    const auto chosen = select_nics(crowded_host(), rule);
    ASSERT_FALSE(chosen.ok()) << rule;
    EXPECT_EQ(chosen.status().code(), Code::invalid_argument);
    EXPECT_THAT(chosen.status().text(),
                AllOf(HasSubstr(std::string("WIA_NIC=\"") + rule + "\""), HasSubstr("lo (127.0.0.1)"),
                      HasSubstr("eth3 (no address), eth4 (down), eth10 (10.0.0.1)")));
  }
}

TEST(SelectNics, RefusesItemsWithoutAName) {
  for (const char* rule : {",", "eth0,", "eth0,,eth2", "^", "=", "^="}) {
    const auto chosen = select_nics(crowded_host(), rule);
    ASSERT_FALSE(chosen.ok()) << rule;
    EXPECT_THAT(chosen.status().text(), HasSubstr("without a name"));
  }
}

TEST(SelectNics, AloneOnItsHostTakesLoopback) {
  const std::vector<Nic> nics = {nic("lo", {"127.0.0.1"}), nic("docker0")};
  EXPECT_EQ(names(select_nics(nics, "").value()), "lo");
  EXPECT_EQ(names(select_nics(nics, "^docker").value()), "lo");
}

TEST(SelectNics, ContainerWithoutInterfaces) {
  EXPECT_THAT(select_nics({}, "").status().text(), HasSubstr("no interface at all"));
}

TEST(NicFacts, SysfsTellsThem) {
  FakeSysfs fake;
  const std::string pci = "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1";
  fake.write(pci + "/numa_node", "1");
  fake.link("class/net/eth0/device", pci);
  fake.write("class/net/eth0/ifindex", "2");
  fake.write("class/net/eth0/speed", "100000");
  fake.write("class/net/eth0/mtu", "9000");
  fake.write("class/net/br0/ifindex", "3");
  fake.write("class/net/br0/speed", "-1");
  fake.directory("class/net/br0/bridge");
  std::vector<Nic> nics = {nic("eth0"), nic("br0")};
  nics[0].index = 2, nics[1].index = 3;
  add_sysfs_facts(nics, fake.root());
  EXPECT_EQ(nics[0].speed_mbps, 100'000);
  EXPECT_EQ(nics[0].mtu, 9000);
  EXPECT_EQ(nics[0].numa_node, 1);
  EXPECT_EQ(nics[0].pci, "0000:3b:00.1");
  EXPECT_FALSE(nics[0].bridge || nics[0].virtual_device);
  EXPECT_EQ(nics[1].speed_mbps, std::nullopt);
  EXPECT_EQ(nics[1].numa_node, std::nullopt);
  EXPECT_TRUE(nics[1].bridge && nics[1].virtual_device);
}

// A virtual machine: the NIC hangs below a PCI device that knows no NUMA node.
TEST(NicFacts, OfAVirtualMachine) {
  FakeSysfs fake;
  fake.write("devices/pci0000:00/0000:00:03.0/numa_node", "-1");
  fake.directory("devices/pci0000:00/0000:00:03.0/virtio2");
  fake.link("class/net/eth0/device", "devices/pci0000:00/0000:00:03.0/virtio2");
  fake.write("class/net/eth0/ifindex", "2");
  std::vector<Nic> nics = {nic("eth0")};
  nics[0].index = 2;
  add_sysfs_facts(nics, fake.root());
  EXPECT_EQ(nics[0].numa_node, std::nullopt);
  EXPECT_EQ(nics[0].pci, "0000:00:03.0");
  EXPECT_FALSE(nics[0].virtual_device);
}

TEST(NicFacts, AnotherNamespacesSysfsIsPassedOver) {
  FakeSysfs fake;
  fake.write("class/net/eth0/ifindex", "2");
  fake.write("class/net/eth0/speed", "100000");
  std::vector<Nic> nics = {nic("eth0")}, before = nics;
  nics[0].index = before[0].index = 7;
  add_sysfs_facts(nics, fake.root());
  add_sysfs_facts(nics, fake.root() + "/missing");
  EXPECT_EQ(nics, before);
}

TEST(NicFacts, OfThisHost) {
  for (const Nic& each : list_nics()) {
    EXPECT_FALSE(each.name.empty());
    EXPECT_NE(each.index, 0u);
    EXPECT_EQ(each.loopback, each.name == "lo");
    for (const NicAddress& own : each.addresses) EXPECT_FALSE(own.text().empty());
  }
}

TEST(NicsNear, AreThoseOfTheNumaNode) {
  std::vector<Nic> nics = {nic("eth0"), nic("eth1"), nic("eth2")};
  EXPECT_THAT(nics_near(nics, 0), testing::IsEmpty()) << "nothing is known";
  nics[0].numa_node = nics[2].numa_node = 1;
  nics[1].numa_node = 0;
  EXPECT_THAT(nics_near(nics, 1), testing::ElementsAre("eth0", "eth2"));
  EXPECT_THAT(nics_near(nics, 2), testing::IsEmpty());
  EXPECT_THAT(nics_near(nics, std::nullopt), testing::IsEmpty());
  nics[1].numa_node = 1;
  EXPECT_THAT(nics_near(nics, 1), testing::IsEmpty()) << "all are";
}

TEST(NumaNode, IsThatOfAllCpus) {
  FakeSysfs sysfs;
  for (const char* cpu : {"cpu0/node0", "cpu1/node0", "cpu2/node1"})
    sysfs.directory(std::string("devices/system/cpu/") + cpu);
  sysfs.directory("devices/system/cpu/cpu3/cache");
  const auto node_of = [&](const std::vector<int>& cpus) {
    return sysfs::numa_node_of_cpus(cpus, sysfs.root());
  };
  EXPECT_EQ(node_of({0, 1}), 0);
  EXPECT_EQ(node_of({2}), 1);
  EXPECT_EQ(node_of({1, 2}), std::nullopt);
  EXPECT_EQ(node_of({0, 3}), std::nullopt) << "not told";
  EXPECT_EQ(node_of({}), std::nullopt);
}

}  // namespace
}  // namespace wia
