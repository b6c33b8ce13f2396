#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/topology_text.hpp"
#include "topology/examples.hpp"
#include "topology/fake_sysfs.hpp"
#include "topology/file.hpp"
#include "topology/schema.hpp"

namespace wia {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TopologyCommand, ShowsThisHost) {
  Command command({"topology"});
  EXPECT_EQ(command.wait(), 0) << command.error;
  EXPECT_THAT(command.output, AllOf(HasSubstr("host "), HasSubstr("device 0: "), HasSubstr("NIC lo: "),
                                    HasSubstr("type, from device (row) to device (column)"),
                                    HasSubstr("SELF"), HasSubstr("nothing was measured")));
  EXPECT_THAT(command.error, IsEmpty());
}

TEST(TopologyCommand, MeasuresEveryPair) {
  Command command(
      {"topology", "-n", "2", "--measure", "--json", "-", "--max-size", "2M", "--budget", "0.05"});
  ASSERT_EQ(command.wait(), 0) << command.error;
  const Json json = Json::parse(command.output);
  EXPECT_EQ(Schema().violation(json), "");
  const auto topology = topology_from_text(command.output, "output");
  ASSERT_TRUE(topology.ok()) << topology.status().text();
  ASSERT_EQ(topology.value().size(), 2);
  EXPECT_EQ(topology.value().hosts.size(), 1u);
  for (const Link& link : topology.value().links) {
    EXPECT_EQ(link.type == LinkType::self, link.source == link.target);
    EXPECT_EQ(link.bandwidth.evidence, Evidence::measured);
    EXPECT_EQ(link.latency.evidence, Evidence::measured);
    EXPECT_GT(link.bandwidth.value, 0);
    EXPECT_GT(link.latency.value, 0);
    EXPECT_LE(link.bandwidth.bytes, 2u << 20);
    EXPECT_GE(link.bandwidth.repetitions, 3);
    EXPECT_EQ(link.latency.bytes, 8u);
  }
  EXPECT_TRUE(command.leaves_nothing());
}

TEST(TopologyCommand, WithoutMeasuringRanksOnlyTellWhereTheyAre) {
  Command command({"topology", "-n", "3"});
  EXPECT_EQ(command.wait(), 0) << command.error;
  EXPECT_THAT(command.output, AllOf(HasSubstr("rank 2: CPUs "), HasSubstr("SHM"), HasSubstr("unknown")));
}

TEST(TopologyCommand, UnderALauncherRankZeroPrints) {
  Command command({"run", "-n", "3", "--no-prefix", "--", WIA_BINARY_DIR "/wia", "topology", "--measure",
                   "--max-size", "64K", "--budget", "0.01"});
  EXPECT_EQ(command.wait(), 0) << command.error;
  EXPECT_THAT(command.output, HasSubstr("9 of 9 links were measured"));
  EXPECT_EQ(command.output.find("host "), command.output.rfind("host "));
}

TEST(TopologyCommand, ReadsWhatItHasWritten) {
  FakeSysfs directory;
  const std::string file = directory.root() + "/topology.json";
  Command written({"topology", "-n", "2", "--json", file});
  ASSERT_EQ(written.wait(), 0) << written.error;
  Command read({"topology", "--file", file});
  EXPECT_EQ(read.wait(), 0) << read.error;
  EXPECT_EQ(read.output, written.output);
  Command copied({"topology", "--file", file, "--json", "-"});
  EXPECT_EQ(copied.wait(), 0);
  EXPECT_EQ(copied.output, to_text(read_topology(file).value()));
}

// --- What is refused: one line on stderr, nothing on stdout, exit code 2 ------------------------------

void expect_refused(const std::vector<std::string>& options, const std::string& words) {
  Command command(options);
  EXPECT_EQ(command.wait(), 2) << testing::PrintToString(options);
  EXPECT_THAT(command.output, IsEmpty());
  EXPECT_EQ(sorted_lines(command.error).size(), 1u) << command.error;
  EXPECT_THAT(command.error, HasSubstr(words));
}

TEST(TopologyCommand, RefusesOptionsThatMakeNoSense) {
  expect_refused({"topology", "-n", "0"}, "--ranks: Value 0 ");
  expect_refused({"topology", "-n", "many"}, "--ranks: Value many ");
  expect_refused({"topology", "--max-size", "big"}, "--max-size: \"big\"");
  expect_refused({"topology", "--max-size", "7"}, "--max-size: \"7\"");
  expect_refused({"topology", "--budget", "0"}, "--budget: \"0\"");
  expect_refused({"topology", "--budget", "-1"}, "--budget: \"-1\"");
  expect_refused({"topology", "--json", "/nowhere/at/all"}, "/nowhere/at/all");
  expect_refused({"topology", "--file", "x.json", "-n", "2"}, "--file: ");
  expect_refused({"topology", "--file", "x.json", "--measure"}, "--file: ");
  expect_refused({"topology", "now"}, "now");
}

TEST(TopologyCommand, RefusesDamagedFilesByNameAndPlace) {
  FakeSysfs directory;
  const std::string good = to_text(example_topology(2));
  const auto file = [&](const std::string& name, const std::string& text) {
    std::ofstream(directory.root() + "/" + name, std::ios::binary) << text;
    return directory.root() + "/" + name;
  };
  const auto refused = [&](const std::string& path, const std::string& words) {
    expect_refused({"topology", "--file", path}, path + words);
  };
  refused(file("empty", ""), ": line 1, column 1: is empty");
  refused(file("cut", good.substr(0, good.size() / 2)), ": line ");
  refused(file("binary", std::string("\0\x01\xff\xfe", 4)), ": line 1, column 1");
  std::string other = good;
  refused(file("other", other.replace(other.find("topology/1"), 10, "topology/9")),
          ": schema: is \"wia.topology/9\"");
  std::string wrong = good;
  refused(file("wrong", wrong.replace(wrong.find("\"SELF\""), 6, "12345 ")), ": links[0].type: is 12345");
  refused(directory.root(), " cannot be read: it is a directory");
  refused(directory.root() + "/none", " cannot be read: No such file");
}

// --- The text -----------------------------------------------------------------------------------------

TEST(TopologyText, EveryFigureShowsItsEvidence) {
  Topology topology = example_topology(5, {measured_link(0, 1, 41.5, 0.2), measured_link(0, 4, 0.25, 20)});
  topology.link(0, 4).nics = {"eth0"};
  topology.link(3, 0).peer_access.reset();
  assume_unmeasured(topology);
  const std::string text = cli::links_text(topology);
  for (const char* words :
       {"     0    unknown     41.5 m    unknown    unknown     0.25 m\n", "41.5 a", "1.25 r", "0.2 a",
        "20 a", "2 of 25 links were measured", "carried by eth0: 0 -> 4\n",
        "far below what is reported: 0 -> 4: measured 0.25 GB/s, 20 % of the 1.25 GB/s of "
        "/sys/class/net/eth0/speed\n"})
    EXPECT_THAT(text, HasSubstr(words));
}

TEST(TopologyText, OfManyRanksKindsAreShown) {
  Topology topology = example_topology(20, {measured_link(0, 1, 41.5, 0.2), measured_link(4, 5, 30, 0.3)});
  assume_unmeasured(topology);
  EXPECT_THAT(cli::links_text(topology),
              AllOf(HasSubstr("SHM        node link         20  30 to 41.5 m,a             0.2 to 0.3 m,a\n"),
                    HasSubstr("NETWORK    network          320  1.25 r                     unknown\n"),
                    testing::Not(HasSubstr("(row)"))));
}

TEST(TopologyText, TreeOfAHostOfWhichLittleIsKnown) {
  Topology topology = example_topology(2);
  topology.hosts[0].nics[0].numa_node = 1;
  topology.hosts[0].nics[0].pci = "0000:3b:00.0";
  topology.endpoints[1].numa_node.reset();
  EXPECT_EQ(cli::tree_text(topology),
            "host node0: CPUs 0-1, no quota\n"
            "  NUMA node 0: CPUs 0-1, 16.0 GiB\n"
            "    device 0: NUMA node 0\n"
            "    rank 0: CPUs 0\n"
            "  NUMA node 1: CPUs 2-3, memory unknown\n"
            "    device 1: NUMA node 1\n"
            "    NIC eth0 (used): 10.0.0.1/24, 1.25 GB/s r, PCI 0000:3b:00.0\n"
            "  NUMA node unknown\n"
            "    rank 1: CPUs 1\n");
  topology.hosts[0] = {};
  EXPECT_THAT(cli::tree_text(topology), HasSubstr("host without a name: CPUs unknown, no quota\n"));
}

}  // namespace
}  // namespace wia
