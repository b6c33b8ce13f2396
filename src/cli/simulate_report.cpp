#include "cli/simulate_report.hpp"

#include <fmt/format.h>

namespace wia::cli {
namespace {

int nodes_of(const MachineModel& model, const SimulatedCall& call) {
  return (call.ranks + model.ranks_per_node - 1) / model.ranks_per_node;
}

std::string size_text(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"", "K", "M", "G", "T"};
  size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit < 4) bytes /= 1024, ++unit;
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

}  // namespace

std::string simulation_header(const MachineModel& model) {
  std::string text = fmt::format("# {}: {}\n", model.name, model.description);
  text += fmt::format("# {} ranks and {} NICs a node; ", model.ranks_per_node, model.nics_per_node);
  if (!model.one_node())
    text += fmt::format("NIC {:g} GB/s ({}), alpha {:g} us ({}); ", *model.network.bandwidth_GBps.value,
                        evidence_name(model.network.bandwidth_GBps.evidence), *model.network.alpha_us.value,
                        evidence_name(model.network.alpha_us.evidence));
  if (model.ranks_per_node > 1)
    text += fmt::format("inside a node {:g} GB/s ({}), alpha {:g} us ({}); ",
                        *model.node.bandwidth_GBps.value, evidence_name(model.node.bandwidth_GBps.evidence),
                        *model.node.alpha_us.value, evidence_name(model.node.alpha_us.evidence));
  return text + "* chosen by the library's simulated time; parts in % of the time\n";
}

std::string simulation_group_header(const MachineModel& model, const SimulatedCall& call) {
  const int nodes = nodes_of(model, call);
  return fmt::format(
      "\n{}, {} ranks on {} node{}\n{:>6} {:<36} {:>11} {:>8} {:>8} {:>5} {:>6} {:>7} {:>8} {:>7} {:>10} "
      "{:>8}\n",
      name_of(call.collective), call.ranks, nodes, nodes == 1 ? "" : "s", "size", "algorithm", "time us",
      "vendor/t", "latency", "NIC", "links", "reduce", "waiting", "slices", "messages", "took s");
}

std::string simulation_line(const SimulatedRow& row) {
  const Moment& end = row.result.end;
  const auto share = [&](Cost cost) { return end.us > 0 ? 100 * end[cost] / end.us : 0; };
  return fmt::format(
      "{:>6} {:<36} {:>11.1f} {:>8} {:>8.1f} {:>5.1f} {:>6.1f} {:>7.1f} {:>8.1f} {:>7} {:>10} {:>8.2f}\n",
      size_text(row.call.bytes), row.result.algorithm + (row.chosen ? " *" : ""), end.us,
      row.vendor_us ? fmt::format("{:.2f}", *row.vendor_us / end.us) : "-", share(Cost::latency),
      share(Cost::nic), share(Cost::links), share(Cost::reduction), share(Cost::waiting), row.result.slices,
      row.result.messages, row.result.seconds);
}

Json simulation_json(const MachineModel& model, const std::vector<SimulatedRow>& rows) {
  Json json;
  json["schema"] = "wia.simulation/1";
  json["machine"] = model.name;
  json["results"] = Json::array();
  for (const SimulatedRow& row : rows) {
    const Moment& end = row.result.end;
    Json& result = json["results"].emplace_back();
    result["collective"] = name_of(row.call.collective);
    result["algorithm"] = row.result.algorithm;
    result["chosen"] = row.chosen;
    result["ranks"] = row.call.ranks;
    result["nodes"] = nodes_of(model, row.call);
    result["bytes"] = row.call.bytes;
    result["slices"] = row.result.slices;
    result["time_us"] = end.us;
    result["speedup_over_vendor"] = row.vendor_us ? Json(*row.vendor_us / end.us) : Json(nullptr);
    result["breakdown"] = {{"latency_us", end[Cost::latency]},
                           {"nic_us", end[Cost::nic]},
                           {"links_us", end[Cost::links]},
                           {"reduction_us", end[Cost::reduction]},
                           {"waiting_us", end[Cost::waiting]}};
    result["messages"] = row.result.messages;
    result["seconds"] = row.result.seconds;
  }
  return json;
}

}  // namespace wia::cli
