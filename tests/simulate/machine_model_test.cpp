#include "simulate/machine_model.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "base/json.hpp"
#include "topology/examples.hpp"
#include "topology/file.hpp"

namespace wia {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::string machine_text(const std::string& name) {
  return text_of(WIA_SOURCE_DIR "/machines/" + name + ".json");
}
Json frontier() { return Json::parse(machine_text("frontier")); }
std::string refusal(const Json& json) {
  auto read = machine_model_from_text(json.dump(), "m.json");
  return read ? "" : read.status().text();
}

TEST(MachineModel, TheMachinesAreBuiltIn) {
  EXPECT_THAT(machine_names(),
              testing::UnorderedElementsAre("frontier", "perlmutter", "dgx-h100", "ethernet-100g"));
  for (const std::string& name : machine_names()) {
    auto model = find_machine_model(name);
    ASSERT_TRUE(model.ok()) << model.status().text();
    EXPECT_EQ(model->name, name);
    EXPECT_FALSE(model->one_node());
    auto file = find_machine_model(WIA_SOURCE_DIR "/machines/" + name + ".json");
    ASSERT_TRUE(file.ok()) << file.status().text();
    EXPECT_EQ(*file->network.bandwidth_GBps.value, *model->network.bandwidth_GBps.value);
  }
}

TEST(MachineModel, FiguresAreReadWithTheirEvidence) {
  auto model = find_machine_model("frontier");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->ranks_per_node, 8);
  EXPECT_EQ(model->nics_per_node, 4);
  EXPECT_EQ(model->nodes_per_group, 128);
  EXPECT_EQ(model->network.bandwidth_GBps.value, 25);
  EXPECT_EQ(model->network.bandwidth_GBps.evidence, Evidence::reported);
  EXPECT_THAT(model->network.bandwidth_GBps.source, HasSubstr("Frontier User Guide"));
  EXPECT_FALSE(model->node_total_GBps.value);
  const VendorModel* sick = model->vendor(Collective::all_gather, "pathological");
  ASSERT_NE(sick, nullptr);
  EXPECT_EQ(sick->step_us.value, 79);
  EXPECT_EQ(model->vendor(Collective::all_reduce, "pathological"), nullptr);
}

TEST(MachineModel, TheDocumentedExampleIsRead) {
  const std::string page = text_of(WIA_SOURCE_DIR "/docs/formats/machine.md");
  const size_t begin = page.find("```json\n") + 8, end = page.find("```", begin);
  ASSERT_NE(end, std::string::npos);
  auto model = machine_model_from_text(page.substr(begin, end - begin), "machine.md");
  ASSERT_TRUE(model.ok()) << model.status().text();
  EXPECT_EQ(model->shared_cores, 2);
}

TEST(MachineModel, UnknownNamesListWhatThereIs) {
  auto model = find_machine_model("summit");
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.status().text(),
              AllOf(HasSubstr("\"summit\""), HasSubstr("frontier"), HasSubstr("perlmutter")));
  EXPECT_THAT(find_machine_model("/nowhere/m.json").status().text(), HasSubstr("/nowhere/m.json"));
}

// --- What is wrong is refused with its place -------------------------------------------------------

TEST(MachineModel, TruncatedAtAnyByteIsRefused) {
  const std::string text = machine_text("frontier");
  for (size_t length = 0; length + 2 < text.size(); length += 37) {
    auto read = machine_model_from_text(text.substr(0, length), "m.json");
    ASSERT_FALSE(read.ok()) << length;
    EXPECT_THAT(read.status().text(), StartsWith("m.json: line "));
  }
}

TEST(MachineModel, DamagedAtAnyByteIsReadOrRefused) {
  const std::string text = machine_text("frontier");
  for (size_t at = 0; at < text.size(); ++at)
    for (const char byte : {'\0', '"', '{', '9', '-', '\xff'}) {
      std::string damaged = text;
      damaged[at] = byte;
      auto read = machine_model_from_text(damaged, "m.json");
      if (read) continue;
      EXPECT_THAT(read.status().text(), StartsWith("m.json: "));
    }
}

struct Flaw {
  std::string place;  // JSON pointer of what is set
  Json value;         // null: the member is taken away
  std::vector<std::string> words;
};
void PrintTo(const Flaw& flaw, std::ostream* out) { *out << flaw.place << " = " << flaw.value.dump(); }

class MachineFlaw : public testing::TestWithParam<Flaw> {};

TEST_P(MachineFlaw, IsRefusedByName) {
  Json json = frontier();
  const Json::json_pointer place(GetParam().place);
  if (GetParam().value.is_null())
    json[place.parent_pointer()].erase(place.back());
  else
    json[place] = GetParam().value;
  const std::string text = refusal(json);
  EXPECT_THAT(text, StartsWith("m.json: "));
  for (const std::string& word : GetParam().words) EXPECT_THAT(text, HasSubstr(word));
}

INSTANTIATE_TEST_SUITE_P(
    Flaws, MachineFlaw,
    testing::Values(
        Flaw{"/schema", "wia.machine/2", {"schema", "wia.machine/2", "wia.machine/1"}},
        Flaw{"/schema", "wia.tuning/1", {"schema", "wia.tuning/1"}}, Flaw{"/schema", nullptr, {"schema"}},
        Flaw{"/network/bandwidth_GBps/value", 0, {"network.bandwidth_GBps.value", "is 0"}},
        Flaw{"/network/bandwidth_GBps/value", -25, {"network.bandwidth_GBps.value"}},
        Flaw{"/network/bandwidth_GBps/value", 1e300, {"network.bandwidth_GBps.value"}},
        Flaw{"/network/bandwidth_GBps/value", "fast", {"network.bandwidth_GBps.value"}},
        Flaw{"/node/bandwidth_GBps/value", 0, {"node.bandwidth_GBps.value"}},
        Flaw{"/node/alpha_us/value", 1e9, {"node.alpha_us.value"}},
        Flaw{"/node/alpha_us/evidence", "guessed", {"node.alpha_us.evidence", "guessed"}},
        Flaw{"/node/alpha_us/source", "", {"node.alpha_us.source"}},
        Flaw{"/reduce_GBps/value", 0, {"reduce_GBps.value"}}, Flaw{"/copy_GBps", nullptr, {"copy_GBps"}},
        Flaw{"/ranks_per_node", 0, {"ranks_per_node", "0"}}, Flaw{"/ranks_per_node", 2.5, {"ranks_per_node"}},
        Flaw{"/nics_per_node", 0, {"nics_per_node", "0"}}, Flaw{"/nics_per_node", nullptr, {"nics_per_node"}},
        Flaw{"/node", nullptr, {"\"node\""}},
        Flaw{"/network", nullptr, {"nics_per_node", "\"network\" is missing"}},
        Flaw{"/nodes_per_group", nullptr, {"group_GBps", "\"nodes_per_group\" is missing"}},
        Flaw{"/group_GBps/value", 0, {"group_GBps.value"}}, Flaw{"/shared_cores", 0, {"shared_cores"}},
        Flaw{"/slice_bytes", 1, {"slice_bytes"}},
        Flaw{"/vendors/1/collective", "all_gather", {"vendors", "healthy", "twice"}},
        Flaw{"/vendors/0/collective", "barrier", {"vendors[0].collective", "barrier"}},
        Flaw{"/vendors/0/bandwidth_GBps/value", 0, {"vendors[0].bandwidth_GBps.value"}},
        Flaw{"/netwrok", 1, {"netwrok"}}));

// --- Measured topologies --------------------------------------------------------------------------

TEST(MachineModel, OfATopologyIsTheMedianOfItsLinks) {
  Topology topology = example_topology(
      8, {measured_link(0, 1, 40, 0.2), measured_link(1, 0, 50, 0.3), measured_link(2, 3, 60, 0.4),
          measured_link(0, 4, 1.1, 20), measured_link(0, 0, 12, 0.1)});
  assume_unmeasured(topology);
  auto model = machine_model_of(topology, "t.json");
  ASSERT_TRUE(model.ok()) << model.status().text();
  EXPECT_EQ(model->ranks_per_node, 4);
  EXPECT_EQ(model->nics_per_node, 1);
  EXPECT_EQ(*model->node.bandwidth_GBps.value, 50);
  EXPECT_EQ(*model->node.alpha_us.value, 0.3);
  EXPECT_EQ(model->node.alpha_us.evidence, Evidence::measured);
  EXPECT_EQ(*model->network.bandwidth_GBps.value, 1.1);
  EXPECT_EQ(*model->copy_GBps.value, 12);
  EXPECT_EQ(model->overhead_us.evidence, Evidence::assumed);
  EXPECT_THAT(model->node.alpha_us.source, AllOf(HasSubstr("3 links"), HasSubstr("t.json")));
}

TEST(MachineModel, OfOneHostHasNoNetwork) {
  Topology topology = example_topology(2, {measured_link(0, 1, 40, 0.2)});
  auto model = machine_model_of(topology, "t.json");
  ASSERT_TRUE(model.ok()) << model.status().text();
  EXPECT_TRUE(model->one_node());
}

TEST(MachineModel, AnUnmeasuredTopologyIsRefused) {
  EXPECT_THAT(machine_model_of(example_topology(8), "t.json").status().text(),
              AllOf(HasSubstr("t.json"), HasSubstr("inside a host")));
  EXPECT_THAT(machine_model_of(Topology(), "t.json").status().text(), HasSubstr("no endpoints"));
}

TEST(MachineModel, ATopologyFileIsAMachine) {
  Topology topology = example_topology(8, {measured_link(0, 1, 40, 0.2), measured_link(0, 4, 1.1, 20)});
  const std::string path = testing::TempDir() + "/topology.json";
  ASSERT_TRUE(write_topology(topology, path).ok());
  auto model = find_machine_model(path);
  ASSERT_TRUE(model.ok()) << model.status().text();
  EXPECT_EQ(*model->network.alpha_us.value, 20);
}

}  // namespace
}  // namespace wia
