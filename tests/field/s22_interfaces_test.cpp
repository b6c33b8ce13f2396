// Field case S22: among many interfaces the one that leads to the others is used, and WIA_NIC means what it
// says.
#include <gmock/gmock.h>

#include "field/data.hpp"

namespace wia::field {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Interfaces that lead nowhere, with the same addresses on every host.
constexpr const char* kDecoys = R"(
  decoy() { ip link add $1 type veth peer name $2; ip link set $1 up; ip link set $2 up; ip addr add $3 dev $1; }
  ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0; ip link set docker0 up
  for i in 1 2 3 4 5 6; do decoy veth$i vethpeer$i 172.18.$i.1/24; done
  decoy lan0 lan0peer 192.168.9.1/24)";
// As if they were on one network, which they are not.
constexpr const char* kMirage = R"(
  ip link add lan1 type veth peer name lan1peer; ip link set lan1 up; ip link set lan1peer up
  ip addr add 192.168.10.1$(hostname | tr -dc 0-9)/24 dev lan1)";

// `nics`: WIA_NIC by rank; empty: not set.
Results run_with(const Hosts& hosts, const std::vector<std::string>& nics, const char* master = "10.77.0.1") {
  Options options;
  options.hosts = &hosts;
  return run_ranks(
      2,
      [&](int me) {
        setenv("WIA_LOG", "info", 1);
        setenv("WIA_INIT_TIMEOUT", "3", 1);
        setenv("WIA_MASTER_ADDR", master, 1);
        if (!nics.empty()) setenv("WIA_NIC", nics[static_cast<size_t>(me)].c_str(), 1);
        const double began = seconds();
        wia_communicator_t* w = nullptr;
        wia_status_t status = wia_init(&w);
        if (status == WIA_SUCCESS) {
          WIA_OK(wia_communicator_set_timeout(w, 8'000));
          status = wia_barrier(w);
        }
        if (status == WIA_SUCCESS) return check_sum(w, 100'000);
        std::printf("after %.1f s: %s\n", seconds() - began, wia_last_error_message());
        return seconds() - began < 3 + 8 + 5 ? 7 : 1;
      },
      options);
}
void expect_used(const Results& results, const char* nic) {
  expect_good(results);
  EXPECT_THAT(results[0].text + results[1].text, testing::ContainsRegex(std::string("rail [01] by ") + nic));
}

using NetworkS22 = OnHosts;

TEST_F(NetworkS22, DecoysAreNotUsed) {
  const Hosts hosts(2);
  hosts.run_on_all(kDecoys);
  const double began = seconds();
  const Results results = run_with(hosts, {});
  expect_used(results, "eth0 10.77.0.");
  EXPECT_LT(seconds() - began, 10);
  EXPECT_THAT(results[0].text, AllOf(HasSubstr("rank 0 is reached at"), Not(HasSubstr("docker0"))));
}

TEST_F(NetworkS22, AMirageIsNoObstacle) {
  const Hosts hosts(2);
  hosts.run_on_all(kMirage);
  expect_used(run_with(hosts, {}), "eth0 10.77.0.");
  hosts.run_on_all(
      "ip link set lan1 down; ip link set lan1 name a1; ip link set a1 up");  // now it is the first
  expect_used(run_with(hosts, {}), "eth0 10.77.0.");
}

TEST_F(NetworkS22, ANameThatIsNone) {
  const Hosts hosts(2);
  hosts.run_on_all(kDecoys);
  const double began = seconds();
  for (const RankResult& result : run_with(hosts, {"nosuch0", "nosuch0"})) {
    EXPECT_EQ(result.code, 7) << result.text;
    EXPECT_THAT(result.text,
                AllOf(HasSubstr("WIA_NIC=\"nosuch0\""), HasSubstr("eth0 (10.77.0."), HasSubstr("docker0 (")));
  }
  EXPECT_LT(seconds() - began, 10);
}

TEST_F(NetworkS22, LoopbackLeadsToNoOtherHost) {
  const Hosts hosts(2);
  const double began = seconds();
  for (const RankResult& result : run_with(hosts, {"lo", "lo"})) {
    EXPECT_EQ(result.code, 7) << result.text;
    EXPECT_THAT(result.text, AllOf(HasSubstr(" by lo: "), HasSubstr("loopback leads to no other host")));
  }
  EXPECT_LT(seconds() - began, 10);
}

TEST_F(NetworkS22, ANameIsNoPrefixOfAnother) {
  const Hosts hosts(2);
  hosts.run_on_all(
      "ip link add link eth0 name eth0.5 type macvlan mode bridge; ip link set eth0.5 up;"
      "ip addr add 10.88.0.1$(hostname | tr -dc 0-9)/24 dev eth0.5");
  expect_used(run_with(hosts, {"eth0", "eth0"}), "eth0 10.77.0.");
  expect_used(run_with(hosts, {"eth0.5", "eth0.5"}), "eth0.5 10.88.0.");
}

TEST_F(NetworkS22, DifferentInterfacesWithARouterBetween) {
  const Hosts hosts(2, "--nics 2 --rate none");
  hosts.run(Hosts::kSwitch, "echo 1 >/proc/sys/net/ipv4/ip_forward");
  hosts.run(0, "ip link set eth1 down; ip route add 10.77.1.0/24 via 10.77.0.254");
  hosts.run(1, "ip link set eth0 down; ip route add 10.77.0.0/24 via 10.77.1.254");
  expect_good(run_with(hosts, {"eth0", "eth1"}));
}

TEST_F(NetworkS22, DifferentInterfacesWithoutARouter) {
  const Hosts hosts(2, "--nics 2 --rate none");
  hosts.run(Hosts::kSwitch, "echo 0 >/proc/sys/net/ipv4/ip_forward");
  hosts.run_on_all(
      "echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore");  // an address is reached by its own interface
  for (const RankResult& result : run_with(hosts, {"eth0", "eth1"})) {
    EXPECT_EQ(result.code, 7) << result.text;
    EXPECT_THAT(result.text, AllOf(HasSubstr("10.77."), HasSubstr("eth")));
  }
}

}  // namespace
}  // namespace wia::field
