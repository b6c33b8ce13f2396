#include "topology/file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/json.hpp"
#include "topology/examples.hpp"
#include "topology/fake_sysfs.hpp"
#include "topology/schema.hpp"

namespace wia {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Topology example() {
  Topology topology = example_topology(5, {measured_link(0, 1, 41.5, 0.2), measured_link(0, 4, 1.1, 20)});
  topology.link(0, 4).nics = {"eth0"};
  topology.link(0, 2).peer_access.reset();
  topology.hosts[0].cpu_quota = 1.5;
  topology.hosts[1].nics.clear();
  topology.hosts[1].devices.push_back({true, "an accelerator", "0000:3b:00.0", std::nullopt});
  assume_unmeasured(topology);
  return topology;
}

TEST(TopologyFile, WhatIsWrittenIsReadBack) {
  const Topology topology = example();
  auto read = topology_from_text(to_text(topology), "text");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read.value(), topology);
  EXPECT_EQ(to_text(read.value()), to_text(topology));

  FakeSysfs directory;
  const std::string path = directory.root() + "/topology.json";
  ASSERT_TRUE(write_topology(topology, path).ok());
  EXPECT_EQ(read_topology(path).value(), topology);
}

TEST(TopologyFile, IsAsTheSchemaSays) {
  const Json json = Json::parse(to_text(example()));
  EXPECT_EQ(Schema().violation(json), "");
  EXPECT_EQ(Schema().violation(Json::parse(to_text(example_topology(2)))), "");
}

// The worked example of the format's page.
TEST(TopologyFile, TheDocumentedExampleIsRead) {
  std::ifstream page(WIA_SOURCE_DIR "/docs/formats/topology.md");
  const std::string text((std::istreambuf_iterator<char>(page)), {});
  const size_t begin = text.find("```json\n") + 8, end = text.find("```", begin);
  ASSERT_NE(end, std::string::npos);
  const Json example_json = Json::parse(text.substr(begin, end - begin));
  EXPECT_EQ(Schema().violation(example_json), "");
  auto read = topology_from_text(example_json.dump(), "topology.md");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(Json::parse(to_text(read.value())), example_json);
}

TEST(TopologyFile, PartsGoBetweenRanks) {
  TopologyPart part = example_part(1);
  part.links = {measured_link(1, 3, 2, 5)};
  auto read = part_from_text(to_text(part), "rank 1");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->host, part.host);
  EXPECT_EQ(read->endpoint, part.endpoint);
  EXPECT_EQ(read->links, part.links);
}

TEST(TopologyFile, AnEditorMayLeaveOutWhatIsUnknown) {
  Json json = Json::parse(to_text(example()));
  json.erase("created");
  json["links"][1].erase("rated_GBps");
  json["links"][1].erase("level");
  json["links"][1]["bandwidth_GBps"] = {{"evidence", "assumed"}, {"value", 12}};
  json["hosts"][0]["nics"][0].erase("speed");
  std::reverse(json["links"].begin(), json["links"].end());  // in any order
  auto read = topology_from_text(json.dump(), "edited");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->link(0, 1).bandwidth, Figure::assumed(12, ""));
  EXPECT_EQ(read->link(4, 4).source, 4);
}

// One change to a good file, and what the refusal says.
struct Damage {
  const char* place;  // JSON pointer of what is replaced; "-/...": removed
  Json value;
  const char* refusal;
};
void PrintTo(const Damage& damage, std::ostream* out) {
  *out << damage.place << " = " << damage.value.dump();
}

bool has_any_of(const std::string& text, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return text.find(word) != std::string::npos; });
}

class DamagedFile : public testing::TestWithParam<Damage> {};

TEST_P(DamagedFile, IsRefusedByNameAndPlace) {
  const std::string place = GetParam().place;
  Json json = Json::parse(to_text(example()));
  if (place.starts_with('-')) {
    const Json::json_pointer pointer(place.substr(1));
    json[pointer.parent_pointer()].erase(pointer.back());
  } else {
    json[Json::json_pointer(place)] = GetParam().value;
  }
  const auto read = topology_from_text(json.dump(), "cluster.json");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), Code::invalid_argument);
  EXPECT_THAT(read.status().text(), AllOf(StartsWith("cluster.json: "), HasSubstr(GetParam().refusal)));
  // What only the reader can see: that numbers and links fit each other, and how an address is written.
  const bool beyond_schema = has_any_of(
      read.status().text(), {"the link from", "whole number from 0 to", "an address", "nothing that"});
  EXPECT_TRUE(beyond_schema || !Schema().violation(json).empty());
}

INSTANTIATE_TEST_SUITE_P(
    Damages, DamagedFile,
    testing::Values(
        Damage{"/schema", "wia.topology/2", "schema: is \"wia.topology/2\", wanted is \"wia.topology/1\""},
        Damage{"-/schema", {}, "\"schema\" is missing"},
        Damage{"/schema", 1, "schema: is 1, wanted is a text"},
        Damage{"/links/3/type", "ETHERNET", "links[3].type: is \"ETHERNET\", wanted is SELF, SHM"},
        Damage{"/links/3/source", 5, "links[3].source: is 5, wanted is a whole number from 0 to 4"},
        Damage{"/links/3/source", -1, "links[3].source: is -1"},
        Damage{"/links/3/source", 0.5, "links[3].source"},
        Damage{"/links/3/source", 1e300, "links[3].source"},
        Damage{"/links/3/source", 18446744073709551615u, "links[3].source"},
        Damage{"/links/3/target", 4, "links: the link from 0 to 3 is missing"},
        Damage{"/links/3/target", 2, "links: the link from 0 to 2 is there twice"},
        Damage{"-/links", {}, "\"links\" is missing"}, Damage{"/links", "none", "links: is \"none\""},
        Damage{"/links", Json::array(), "links: the link from 0 to 0 is missing"},
        Damage{"/links/0/bandwith", 3, "links[0]: \"bandwith\" is no member of this"},
        Damage{"/links/0/bandwidth_GBps", 3, "links[0].bandwidth_GBps: is 3, wanted is an object"},
        Damage{"/links/1/bandwidth_GBps/value", "fast", "links[1].bandwidth_GBps.value: is \"fast\""},
        Damage{"/links/1/bandwidth_GBps/value", -3, "links[1].bandwidth_GBps.value: is -3"},
        Damage{"/links/1/bandwidth_GBps/value", {}, "links[1].bandwidth_GBps: \"value\" is missing"},
        Damage{"/links/1/bandwidth_GBps/evidence", "guessed",
               "links[1].bandwidth_GBps.evidence: is \"guessed\""},
        Damage{"-/links/1/bandwidth_GBps/when", {}, "\"when\" is missing"},
        Damage{"/links/1/peer_access", "yes", "links[1].peer_access: is \"yes\", wanted is true or false"},
        Damage{"/hosts", Json::array(), "endpoints[0].host: there is nothing that it could name"},
        Damage{"/hosts/0/nics/0/addresses/0", "10.0.0.300/24",
               "hosts[0].nics[0].addresses[0]: is \"10.0.0.300/24\""},
        Damage{"/hosts/0/nics/0/addresses/0", "10.0.0.1", "as 192.0.2.1/24"},
        Damage{"/hosts/0/cpus", {0, "1"}, "hosts[0].cpus[1]: is \"1\""},
        Damage{"/hosts/0/devices/0/kind", "tpu", "hosts[0].devices[0].kind"},
        Damage{"/endpoints/0/device", 2, "endpoints[0].device: is 2, wanted is a whole number from 0 to 1"},
        Damage{"/endpoints_are", "hosts", "endpoints_are: is \"hosts\""}));

TEST(TopologyFile, TextThatIsNoJson) {
  const std::string good = to_text(example());
  const auto refusal = [](const std::string& text) { return topology_from_text(text, "f").status().text(); };
  EXPECT_EQ(refusal(""), "f: line 1, column 1: is empty");
  EXPECT_THAT(refusal(good.substr(0, good.size() / 2)),
              AllOf(StartsWith("f: line "), HasSubstr("is no JSON")));
  EXPECT_THAT(refusal("{\n  \"schema\": wia\n}"), StartsWith("f: line 2, column 13: is no JSON"));
  EXPECT_THAT(refusal(good + "x"), HasSubstr("is no JSON"));
  EXPECT_THAT(refusal(std::string("\x7f\x45\x4c\x46\x02\x00\x00", 7)),
              StartsWith("f: line 1, column 1: is no JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("wanted is an object"));
  EXPECT_THAT(refusal("{\"schema\": \"\xff\"}"), HasSubstr("is no JSON"));
  EXPECT_THAT(refusal("{\"schema\": 1e999}"), StartsWith("f: "));
  EXPECT_FALSE(refusal(std::string(100'000, '[')).empty());
  // Cut anywhere: refused, never half taken.
  for (size_t length = 0; length + 2 < good.size(); length += 97)
    EXPECT_FALSE(topology_from_text(good.substr(0, length), "f").ok()) << length;
}

TEST(TopologyFile, FilesThatCannotBeRead) {
  FakeSysfs directory;
  const auto refusal = [](const std::string& path) { return read_topology(path).status().text(); };
  EXPECT_THAT(refusal(directory.root() + "/none"), HasSubstr("/none cannot be read: No such file"));
  EXPECT_THAT(refusal(directory.root()), HasSubstr("it is a directory"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("it is no file"));
  directory.write("closed", to_text(example()));
  const std::string closed = directory.root() + "/closed";
  chmod(closed.c_str(), 0);
  EXPECT_TRUE(geteuid() == 0 || refusal(closed).find("Permission denied") != std::string::npos);
  EXPECT_THAT(write_topology(example(), "/nowhere/at/all").text(), HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace wia
