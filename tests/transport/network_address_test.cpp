#include "transport/network_address.hpp"

#include <gtest/gtest.h>

namespace wia {
namespace {

NetworkAddress address(const std::string& places, int port = 4711) {
  return NetworkAddress::parse("host 12 " + std::to_string(port) + " - " + places).value();
}

std::vector<std::string> rails(const std::string& own, const std::string& peer) {
  std::vector<std::string> list;
  for (const Path& path : plan_paths(address(own), address(peer)).rails) list.push_back(path.text());
  return list;
}

using Texts = std::vector<std::string>;

TEST(NetworkAddress, IsReadBackAsItWasWritten) {
  for (const char* text : {"host 12 4711 - eth0=10.0.0.1/24 eth0=fd00::1/64 ib0=192.168.1.1/16",
                           "host 12 4711 eth0,ib0 eth0=10.0.0.1/24 eth1=10.0.1.1/24 ib0=192.168.1.1/16"})
    EXPECT_EQ(NetworkAddress::parse(text).value().text(), text);
}

TEST(NetworkAddress, RefusesNonsense) {
  for (const char* text :
       {"", "host", "host x 1 - eth0=10.0.0.1/24", "host 1 70000 - eth0=10.0.0.1/24", "host 1 2 - eth0",
        "host 1 2 - eth0=10.0.0.1", "host 1 2 - eth0=10.0.0.1/33", "host 1 2 - eth0=10.0.0.x/24"})
    EXPECT_EQ(NetworkAddress::parse(text).status().code(), Code::protocol) << text;
}

TEST(Paths, JoinInterfacesOfOneNetwork) {
  EXPECT_EQ(rails("eth0=10.0.0.1/24 eth1=10.0.1.1/24", "eth0=10.0.0.2/24 eth1=10.0.1.2/24"),
            (Texts{"eth0 10.0.0.1 -> 10.0.0.2:4711", "eth1 10.0.1.1 -> 10.0.1.2:4711"}));
  // Wherever the cables go.
  EXPECT_EQ(rails("eth0=10.0.0.1/24 eth1=10.0.1.1/24", "ib0=10.0.1.2/24 ib1=10.0.0.2/24"),
            (Texts{"eth0 10.0.0.1 -> 10.0.0.2:4711", "eth1 10.0.1.1 -> 10.0.1.2:4711"}));
}

TEST(Paths, NeverUseAnAddressThatBothHave) {
  EXPECT_EQ(rails("docker0=172.17.0.1/16 eth0=10.0.0.1/24", "docker0=172.17.0.1/16 eth0=10.0.0.2/24"),
            (Texts{"eth0 10.0.0.1 -> 10.0.0.2:4711"}));
}

TEST(Paths, OfOneHostUseItsOwnAddress) {
  EXPECT_EQ(rails("eth0=10.0.0.1/24", "eth0=10.0.0.1/24"), (Texts{"eth0 10.0.0.1 -> 10.0.0.1:4711"}));
  EXPECT_EQ(rails("lo=127.0.0.1/8", "lo=127.0.0.1/8"), (Texts{"lo 127.0.0.1 -> 127.0.0.1:4711"}));
}

TEST(Paths, CrossARouterWhereNoNetworkIsShared) {
  EXPECT_EQ(rails("eth0=10.0.0.1/24 eth1=10.0.1.1/24", "eth0=10.1.0.2/24"),
            (Texts{"eth0 10.0.0.1 -> 10.1.0.2:4711"}));
}

TEST(Paths, AnInterfaceIsOneRailWhateverItsAddresses) {
  EXPECT_EQ(rails("eth0=10.0.0.1/24 eth0=fd00::1/64", "eth0=10.0.0.2/24 eth0=fd00::2/64").size(), 1u);
  EXPECT_EQ(
      plan_paths(address("eth0=10.0.0.1/24 eth0=fd00::1/64"), address("eth0=10.0.0.2/24 eth0=fd00::2/64"))
          .others,
      plan_paths(address("eth0=fd00::1/64"), address("eth0=fd00::2/64")).rails);
}

TEST(Paths, NeedAFamilyInCommon) {
  EXPECT_EQ(rails("eth0=10.0.0.1/24", "eth0=fd00::2/64"), Texts());
  EXPECT_EQ(rails("eth0=fd00::1/64", "eth0=fd00::2/64"), (Texts{"eth0 fd00::1 -> [fd00::2]:4711"}));
}

TEST(Paths, AreTheSameFromBothEnds) {
  const NetworkAddress a = address("eth0=10.0.0.1/24 eth1=10.0.1.1/24", 1000),
                       b = address("ib0=10.0.1.2/24 ib1=10.0.0.2/24", 2000);
  const Paths there = plan_paths(a, b), back = reversed(there, a.port);
  ASSERT_EQ(back.rails.size(), 2u);
  EXPECT_EQ(back.rails[0].text(), "ib1 10.0.0.2 -> 10.0.0.1:1000");
  EXPECT_EQ(back.rails[1].text(), "ib0 10.0.1.2 -> 10.0.1.1:1000");
}

TEST(Rails, ThatAreNearAreFirst) {
  NetworkAddress own = address("eth0=10.0.0.1/24 eth1=10.0.1.1/24 eth2=10.0.2.1/24");
  const Paths paths = plan_paths(own, address("eth0=10.0.0.2/24 eth1=10.0.1.2/24 eth2=10.0.2.2/24"));
  EXPECT_EQ(near_rails(own, paths), (std::vector<int>{0, 1, 2}));
  own.near = {"eth2", "eth1", "eth7"};
  EXPECT_EQ(near_rails(own, paths), (std::vector<int>{1, 2}));
  own.near = {"eth7"};
  EXPECT_EQ(near_rails(own, paths), (std::vector<int>{0, 1, 2}));
}

TEST(Rails, AreSharedOut) {
  EXPECT_EQ(rails_of(2, 0, 2), (std::vector<int>{0}));
  EXPECT_EQ(rails_of(2, 1, 2), (std::vector<int>{1}));
  EXPECT_EQ(rails_of(2, 2, 4), (std::vector<int>{1}));     // neighbours share
  EXPECT_EQ(rails_of(4, 1, 2), (std::vector<int>{1, 3}));  // more interfaces than ranks
  EXPECT_EQ(rails_of(2, 0, 1), (std::vector<int>{0, 1}));
  EXPECT_EQ(rails_of(1, 7, 8), (std::vector<int>{0}));
  EXPECT_TRUE(rails_of(0, 0, 1).empty());
}

}  // namespace
}  // namespace wia
