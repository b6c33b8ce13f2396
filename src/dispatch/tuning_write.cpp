#include <cmath>

#include "base/json.hpp"
#include "base/replace_file.hpp"
#include "dispatch/tuning_file.hpp"

namespace wia {
namespace {

Json cell_json(const CollectiveTuning::Cell& cell) {
  Json json;
  for (const Quantity& quantity : call_quantities()) {
    const double value = cell.call.*quantity.member;
    if (std::isnan(value)) continue;
    json[quantity.name] = quantity.whole ? Json(static_cast<int64_t>(value)) : Json(value);
  }
  json["times_us"] = Json::array();
  for (const auto& time : cell.times_us) json["times_us"].push_back(time ? Json(*time) : Json(nullptr));
  for (const auto& [name, rounds] : cell.rounds_us) json["rounds_us"][name] = rounds;
  return json;
}

Json svm_json(const LearnedModel::Svm& svm) {
  Json json = {{"kernel", "rbf"},           {"gamma", svm.gamma},   {"C", svm.cost},
               {"features", Json::array()}, {"biases", svm.biases}, {"vectors", Json::array()}};
  for (const auto& range : svm.features)
    json["features"].push_back({{"name", range.feature->name},
                                {"least", range.least},
                                {"most", range.most},
                                {"weight", range.weight}});
  for (const auto& vector : svm.vectors)
    json["vectors"].push_back({{"values", vector.values}, {"weights", vector.weights}});
  return json;
}

Json pairs_json(const std::vector<std::string>& classes) {
  Json json = Json::array();
  for (size_t a = 0; a < classes.size(); ++a)
    for (size_t b = a + 1; b < classes.size(); ++b) json.push_back(Json::array({classes[a], classes[b]}));
  return json;
}

Json collective_json(const CollectiveTuning& tuning) {
  const auto& evidence = tuning.evidence;
  Json json = {{"collective", name_of(tuning.collective)},
               {"classes", tuning.learned.classes},
               {"pairs", pairs_json(tuning.learned.classes)},
               {"evidence",
                {{"method", "cross-validation"},
                 {"cells", evidence.cells},
                 {"folds", evidence.folds},
                 {"repeats", evidence.repeats},
                 {"accuracy", evidence.accuracy},
                 {"accuracy_within_5_percent", evidence.accuracy_within},
                 {"regret", evidence.regret}}},
               {"svms", Json::array()},
               {"cells", Json::array()}};
  for (const auto& svm : tuning.learned.svms) json["svms"].push_back(svm_json(svm));
  for (const auto& cell : tuning.cells) json["cells"].push_back(cell_json(cell));
  return json;
}

Json way_json(const WayCost& way) {
  return {{"alpha_us", way.alpha_us}, {"bandwidth_GBps", way.bandwidth_GBps}};
}

Json costs_json(const MachineCosts& costs) {
  Json json = {{"node", way_json(costs.node)}};
  if (costs.network) json["network"] = way_json(*costs.network);
  if (costs.node_network_GBps > 0) json["node_network_GBps"] = costs.node_network_GBps;
  json["reduce_GBps"] = costs.reduce_GBps;
  json["message_us"] = costs.message_us;
  return json;
}

Json tuning_json(const Tuning& tuning) {
  Json json = {{"schema", "wia.tuning/1"}, {"machine", tuning.machine}, {"conditions", Json::object()}};
  for (const auto& [name, text] : tuning.conditions) json["conditions"][name] = text;
  if (tuning.costs) json["costs"] = costs_json(*tuning.costs);
  json["collectives"] = Json::array();
  for (const auto& one : tuning.collectives) json["collectives"].push_back(collective_json(one));
  return json;
}

}  // namespace

std::string to_text(const Tuning& tuning) { return json_text(tuning_json(tuning)); }

Status write_tuning(const Tuning& tuning, const std::string& path) {
  if (path != "-") return replace_file(path, to_text(tuning));
  try {
    write_text(to_text(tuning), path);
  } catch (const std::runtime_error& error) {
    return Status(Code::system, error.what());
  }
  return {};
}

}  // namespace wia
