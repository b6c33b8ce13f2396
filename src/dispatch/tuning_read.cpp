#include <algorithm>
#include <cmath>

#include "base/json_node.hpp"
#include "base/read_file.hpp"
#include "dispatch/tuning_file.hpp"

namespace wia {
namespace {

using Node = JsonNode;

constexpr size_t kLargestFile = size_t{256} << 20;

double as_real(const Node& node) { return node.real(); }
std::vector<double> as_reals(const Node& node) { return node.array(as_real); }

double positive(const Node& node) {
  if (node.number() == 0) node.refuse_value("a number above 0");
  return node.number();
}

double share(const Node& node) {
  const double value = node.number();
  if (value > 1) node.refuse_value("a number from 0 to 1");
  return value;
}

LearnedModel::Scaled read_feature(Node node) {
  LearnedModel::Scaled range = {};
  const Node name = node.member("name");
  range.feature = find_feature(name.string());
  if (!range.feature) name.refuse_value("a feature that this version knows");
  range.least = node.member("least").real();
  range.most = node.member("most").real();
  range.weight = node.member("weight").number();
  if (!(range.least < range.most)) node.refuse("\"least\" is not below \"most\"");
  node.no_others();
  return range;
}

LearnedModel::Vector read_vector(Node node, size_t features, size_t pairs) {
  LearnedModel::Vector vector;
  const Node values = node.member("values"), weights = node.member("weights");
  vector.values = values.array(as_real);
  if (vector.values.size() != features)
    values.refuse(fmt::format("has {} numbers, there are {} features", vector.values.size(), features));
  vector.weights = weights.array(as_real);
  if (vector.weights.size() != pairs)
    weights.refuse(
        fmt::format("has {} numbers, there are {} pairs of classes", vector.weights.size(), pairs));
  node.no_others();
  return vector;
}

// The pairs are there for readers, who need not count; they must be those that follow from the classes.
void check_pairs(const Node& node, const std::vector<std::string>& classes) {
  std::vector<std::vector<std::string>> wanted;
  for (size_t a = 0; a < classes.size(); ++a)
    for (size_t b = a + 1; b < classes.size(); ++b) wanted.push_back({classes[a], classes[b]});
  if (node.array([](const Node& pair) { return pair.array(as_string); }) != wanted)
    node.refuse("are not all pairs of \"classes\" in their order");
}

LearnedModel::Svm read_svm(Node node, size_t pairs) {
  LearnedModel::Svm svm;
  if (node.member("kernel").string() != "rbf") node.member("kernel").refuse_value("\"rbf\"");
  svm.gamma = node.member("gamma").number();
  svm.cost = node.member("C").number();
  svm.features = node.member("features").array(read_feature);
  svm.biases = as_reals(node.member("biases"));
  svm.vectors =
      node.member("vectors").array([&](const Node& n) { return read_vector(n, svm.features.size(), pairs); });
  node.no_others();
  if (const std::string flaw = flaw_of(svm, pairs); !flaw.empty()) node.refuse(flaw);
  return svm;
}

CollectiveTuning::Evidence read_evidence(Node node) {
  CollectiveTuning::Evidence evidence;
  if (node.member("method").string() != "cross-validation")
    node.member("method").refuse_value("\"cross-validation\"");
  evidence.cells = node.member("cells").count();
  evidence.folds = node.member("folds").count();
  evidence.repeats = node.member("repeats").count();
  evidence.accuracy = share(node.member("accuracy"));
  evidence.accuracy_within = share(node.member("accuracy_within_5_percent"));
  evidence.regret = node.member("regret").number();
  if (evidence.regret < 1) node.member("regret").refuse_value("a number, 1 or more");
  node.no_others();
  return evidence;
}

CollectiveTuning::Cell read_cell(Node node, size_t classes) {
  CollectiveTuning::Cell cell;
  for (const Quantity& quantity : call_quantities()) {
    auto found = node.optional_member(quantity.name);
    if (!found) continue;
    const double value = found->real();
    if (value < quantity.least || value > quantity.most || (quantity.whole && value != std::floor(value)))
      found->refuse_value(fmt::format("a {}number from {:g} to {:g}", quantity.whole ? "whole " : "",
                                      quantity.least, quantity.most));
    cell.call.*quantity.member = value;
  }
  const Node times = node.member("times_us");
  cell.times_us = times.array([](const Node& n) -> std::optional<double> {
    return n.is_null() ? std::nullopt : std::optional(positive(n));
  });
  if (cell.times_us.size() != classes)
    times.refuse(fmt::format("has {} times, there are {} classes", cell.times_us.size(), classes));
  if (const auto rounds = node.optional_member("rounds_us"))
    cell.rounds_us = rounds->members([](const Node& n) { return n.array(positive); });
  node.no_others();
  return cell;
}

CollectiveTuning read_collective(Node node) {
  CollectiveTuning tuning;
  const auto collective = parse_collective(node.member("collective").string());
  if (!collective) node.member("collective").refuse_value("a collective");
  tuning.collective = *collective;
  tuning.learned.classes = node.member("classes").array(as_string);
  const size_t count = tuning.learned.classes.size();
  check_pairs(node.member("pairs"), tuning.learned.classes);
  tuning.evidence = read_evidence(node.member("evidence"));
  tuning.learned.svms =
      node.member("svms").array([&](const Node& n) { return read_svm(n, pairs_of(count)); });
  if (const std::string flaw = flaw_of(tuning.learned); !flaw.empty()) node.refuse(flaw);
  tuning.cells = node.member("cells").array([&](const Node& n) { return read_cell(n, count); });
  node.no_others();
  return tuning;
}

WayCost read_way(Node node) {
  const WayCost way{node.member("alpha_us").number(), positive(node.member("bandwidth_GBps"))};
  node.no_others();
  return way;
}

MachineCosts read_costs(Node node) {
  MachineCosts costs;
  costs.node = read_way(node.member("node"));
  costs.network = maybe(node.optional_member("network"), read_way);
  costs.node_network_GBps = maybe(node.optional_member("node_network_GBps"), positive).value_or(0);
  costs.reduce_GBps = positive(node.member("reduce_GBps"));
  costs.message_us = node.member("message_us").number();
  node.no_others();
  return costs;
}

Tuning read_all(Node node) {
  Tuning tuning;
  // The schema first: of another version nothing else is looked at.
  if (node.member("schema").string() != "wia.tuning/1")
    node.member("schema").refuse_value("\"wia.tuning/1\"");
  tuning.machine = node.member("machine").string();
  if (auto conditions = node.optional_member("conditions")) tuning.conditions = conditions->texts();
  tuning.costs = maybe(node.optional_member("costs"), read_costs);
  const Node collectives = node.member("collectives");
  tuning.collectives = collectives.array(read_collective);
  for (size_t i = 0; i < tuning.collectives.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (tuning.collectives[i].collective == tuning.collectives[j].collective)
        collectives.refuse(fmt::format("{} is there twice", name_of(tuning.collectives[i].collective)));
  node.no_others();
  return tuning;
}

}  // namespace

bool CollectiveTuning::Cell::operator==(const Cell& other) const {
  const auto same = [&](const Quantity& quantity) {
    const double here = call.*quantity.member, there = other.call.*quantity.member;
    return here == there || (std::isnan(here) && std::isnan(there));
  };
  const auto quantities = call_quantities();
  return times_us == other.times_us && rounds_us == other.rounds_us &&
         std::all_of(quantities.begin(), quantities.end(), same);
}

const CollectiveTuning* Tuning::of(Collective collective) const {
  for (const CollectiveTuning& tuning : collectives)
    if (tuning.collective == collective) return &tuning;
  return nullptr;
}

Result<Tuning> tuning_from_text(std::string_view text, const std::string& name) {
  return read_json(text, name, read_all);
}

Result<Tuning> read_tuning(const std::string& path) {
  auto text = read_file(path, kLargestFile);
  if (!text) return text.take_status();
  return tuning_from_text(*text, path);
}

}  // namespace wia
