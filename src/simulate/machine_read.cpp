#include <algorithm>

#include "base/json_node.hpp"
#include "simulate/machine_model.hpp"

namespace wia {
namespace {

using Node = JsonNode;

constexpr double kMostMicroseconds = 1e6, kMostGBps = 1e6;
constexpr int kMostRanksPerNode = 1024;

Figure read_figure(Node node) {
  Figure figure;
  const Node evidence = node.member("evidence");
  const auto known = {Evidence::measured, Evidence::reported, Evidence::assumed};
  const auto found = std::find_if(known.begin(), known.end(), [name = evidence.string()](Evidence e) {
    return name == evidence_name(e);
  });
  if (found == known.end()) evidence.refuse_value("measured, reported or assumed");
  figure.evidence = *found;
  figure.value = node.member("value").number();
  figure.source = node.member("source").string();
  if (figure.source.empty()) node.member("source").refuse("is empty: a figure says where it is from");
  node.no_others();
  return figure;
}

Figure read_time(Node node) {
  Figure figure = read_figure(node);
  if (*figure.value > kMostMicroseconds) node.member("value").refuse_value("a time of at most 1 s");
  return figure;
}

Figure read_bandwidth(Node node) {
  Figure figure = read_figure(node);
  if (*figure.value <= 0 || *figure.value > kMostGBps)
    node.member("value").refuse_value(fmt::format("a bandwidth above 0, at most {:g} GB/s", kMostGBps));
  return figure;
}

Figure bandwidth_or_unlimited(std::optional<Node> node) {
  return node ? read_bandwidth(*node) : Figure::unknown("no limit is known");
}

Way read_way(Node node) {
  Way way{read_time(node.member("alpha_us")), read_bandwidth(node.member("bandwidth_GBps"))};
  node.no_others();
  return way;
}

VendorModel read_vendor(Node node) {
  VendorModel vendor;
  vendor.name = node.member("name").string();
  const auto collective = parse_collective(node.member("collective").string());
  if (collective != Collective::all_reduce && collective != Collective::all_gather &&
      collective != Collective::reduce_scatter)
    node.member("collective").refuse_value("all_reduce, all_gather or reduce_scatter");
  vendor.collective = *collective;
  vendor.step_us = read_time(node.member("step_us"));
  vendor.bandwidth_GBps = read_bandwidth(node.member("bandwidth_GBps"));
  node.no_others();
  return vendor;
}

std::vector<VendorModel> read_vendors(const Node& node) {
  std::vector<VendorModel> vendors;
  for (VendorModel& vendor : node.array(read_vendor)) {
    for (const VendorModel& other : vendors)
      if (other.name == vendor.name && other.collective == vendor.collective)
        node.refuse(fmt::format("\"{}\" of {} is there twice", vendor.name, name_of(vendor.collective)));
    vendors.push_back(std::move(vendor));
  }
  return vendors;
}

void read_node_level(Node& node, MachineModel& model) {
  model.ranks_per_node = static_cast<int>(node.member("ranks_per_node").integer(1, kMostRanksPerNode));
  if (auto way = node.optional_member("node"))
    model.node = read_way(*way);
  else if (model.ranks_per_node > 1)
    node.refuse(fmt::format("\"node\" is missing, but \"ranks_per_node\" is {}", model.ranks_per_node));
  model.node_total_GBps = bandwidth_or_unlimited(node.optional_member("node_total_GBps"));
}

void read_network(Node& node, MachineModel& model) {
  auto nics = node.optional_member("nics_per_node"), way = node.optional_member("network");
  auto groups = node.optional_member("nodes_per_group"), limit = node.optional_member("group_GBps");
  if (nics && !way) nics->refuse("NICs are given, but \"network\" is missing");
  if (groups && !way) groups->refuse("groups of nodes are given, but \"network\" is missing");
  if (limit && !groups) limit->refuse("is given, but \"nodes_per_group\" is missing");
  model.group_GBps = bandwidth_or_unlimited(limit);
  if (!way) return;
  model.nics_per_node = static_cast<int>(node.member("nics_per_node").integer(1, kMostRanksPerNode));
  model.network = read_way(*way);
  if (groups) model.nodes_per_group = static_cast<int>(groups->integer(1, Node::kMostItems));
}

MachineModel read_machine(Node node) {
  MachineModel model;
  // The schema first: of another version nothing else is looked at.
  if (node.member("schema").string() != "wia.machine/1")
    node.member("schema").refuse_value("\"wia.machine/1\", or \"wia.topology/1\"");
  model.name = node.member("name").string();
  if (model.name.empty()) node.member("name").refuse("is empty");
  model.description = text_or_empty(node.optional_member("description"));
  read_node_level(node, model);
  read_network(node, model);
  model.overhead_us = read_time(node.member("overhead_us"));
  model.reduce_GBps = read_bandwidth(node.member("reduce_GBps"));
  model.copy_GBps = read_bandwidth(node.member("copy_GBps"));
  model.call_us = read_time(node.member("call_us"));
  if (auto cores = node.optional_member("shared_cores"))
    model.shared_cores = static_cast<int>(cores->integer(1, Node::kMostItems));
  if (auto slice = node.optional_member("slice_bytes"))
    model.slice_bytes = static_cast<uint64_t>(slice->integer(64, INT64_MAX));
  if (auto vendors = node.optional_member("vendors")) model.vendors = read_vendors(*vendors);
  node.no_others();
  return model;
}

}  // namespace

Result<MachineModel> machine_model_from_text(std::string_view text, const std::string& name) {
  return read_json(text, name, read_machine);
}

}  // namespace wia
