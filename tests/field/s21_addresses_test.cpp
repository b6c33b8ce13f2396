// Field case S21: host names that mean nothing, or another thing on every host, and hosts with one family of
// addresses.
#include <gmock/gmock.h>

#include "field/data.hpp"

namespace wia::field {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What makes IPv6 addresses of the hosts' names: node0 gets fd00::10.
#define IPV6_ADDRESS "ip -6 addr add fd00::1$(hostname | tr -dc 0-9)/64 dev eth0 nodad"
#define NO_IPV4_ADDRESS "ip -4 addr flush dev eth0"
// Adds a line to the host's own /etc/hosts.
#define NAME(line) \
  "cp /etc/hosts /dev/shm/hosts; echo '" line "' >>/dev/shm/hosts; mount --bind /dev/shm/hosts /etc/hosts"

struct Machine {
  const char* name;
  const char *on_0, *on_1;  // what is done to the hosts
  const char* master;
};
void PrintTo(const Machine& machine, std::ostream* out) { *out << machine.name; }

const Machine kThatWork[] = {
    {"bogus_names", "hostname bogus.invalid", "hostname bogus.invalid", "10.77.0.1"},
    {"long_names", "hostname $(printf %064d 0)", "hostname $(printf %064d 0)", "10.77.0.1"},
    {"loopback_for_itself", NAME("127.0.1.1 head"), NAME("10.77.0.1 head"), "head"},
    {"ipv6_only", IPV6_ADDRESS "; " NO_IPV4_ADDRESS, IPV6_ADDRESS "; " NO_IPV4_ADDRESS, "[fd00::10]"},
    {"no_ipv6", "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6",
     "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6", "10.77.0.1"},
    {"no_ipv6_on_one", ":", "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6", "10.77.0.1"},
    {"both_families", IPV6_ADDRESS, IPV6_ADDRESS, "fd00::10"},
};

class NetworkS21 : public OnHosts, public testing::WithParamInterface<Machine> {};

// Two ranks: each checks sums, or prints why there is no world.
Results run_on(const Hosts& hosts, const char* master, int per_host = 1, const char* transport = "auto") {
  Options options;
  options.hosts = &hosts;
  options.ranks_per_host = per_host;
  return run_ranks(
      2,
      [&](int) {
        setenv("WIA_INIT_TIMEOUT", "3", 1);
        setenv("WIA_MASTER_ADDR", master, 1);
        setenv("WIA_TRANSPORT", transport, 1);
        const double began = seconds();
        wia_communicator_t* w = nullptr;
        if (wia_init(&w) == WIA_SUCCESS) {
          WIA_RUN(check_sum(w));
          return check_sum(w, 100'000);
        }
        std::printf("%s\n", wia_last_error_message());
        return seconds() - began < 3 + 5 ? 7 : 1;
      },
      options);
}
void expect_refused(const Results& results) {
  for (const RankResult& result : results) EXPECT_EQ(result.code, 7) << result.text;
}

TEST_P(NetworkS21, Works) {
  const Hosts hosts(2);
  hosts.run(0, GetParam().on_0);
  hosts.run(1, GetParam().on_1);
  expect_good(run_on(hosts, GetParam().master));
}

INSTANTIATE_TEST_SUITE_P(Field, NetworkS21, testing::ValuesIn(kThatWork),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

using NetworkS21Trouble = OnHosts;

TEST_F(NetworkS21Trouble, AMasterThatIsLoopbackEverywhere) {
  const Hosts hosts(2);
  hosts.run_on_all(NAME("127.0.1.1 head"));
  const Results results = run_on(hosts, "head");
  expect_refused(results);
  EXPECT_THAT(results[1].text,
              AllOf(HasSubstr("head:29500"), HasSubstr("127.0.1.1"), HasSubstr("WIA_MASTER_ADDR")));
}

TEST_F(NetworkS21Trouble, FamiliesThatDifferFromTheMasters) {
  const Hosts hosts(2);
  hosts.run(1, IPV6_ADDRESS "; " NO_IPV4_ADDRESS);
  const Results results = run_on(hosts, "10.77.0.1");
  expect_refused(results);
  EXPECT_THAT(results[1].text, AllOf(HasSubstr("10.77.0.1"), HasSubstr("IPv4"), HasSubstr("IPv6")));
}

// They meet by eth0, and have eth1 for their data.
TEST_F(NetworkS21Trouble, FamiliesThatDifferBetweenTheRanks) {
  const Hosts hosts(2, "--nics 2 --rate none");
  hosts.run(1, "ip -4 addr flush dev eth1; ip -6 addr add fd00::2/64 dev eth1 nodad");
  setenv("WIA_NIC", "eth1", 1);
  const Results results = run_on(hosts, "10.77.0.1");
  unsetenv("WIA_NIC");
  expect_refused(results);
  for (const RankResult& result : results)
    EXPECT_THAT(result.text, AllOf(HasSubstr("10.77.1.1/24"), HasSubstr("fd00::2/64"), HasSubstr("rank 0"),
                                   HasSubstr("rank 1")));
}

TEST_F(NetworkS21Trouble, NothingButLoopbackIsEnoughOnOneHost) {
  const Hosts hosts(1);
  hosts.run(0, "ip link set eth0 down");
  for (const char* transport : {"auto", "tcp"}) expect_good(run_on(hosts, "127.0.0.1", 2, transport));
}

}  // namespace
}  // namespace wia::field
