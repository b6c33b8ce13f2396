#include "dispatch/costs.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "base/median.hpp"

namespace wia {
namespace {

// The links between ranks of one host, or of different ones.
struct Links {
  std::vector<double> latencies, bandwidths;
  std::vector<double> of_node;  // bandwidths, if a node's other NICs carried as much
  void add(const Link& link, size_t nics_of_node) {
    if (link.bandwidth.evidence != Evidence::measured || !link.bandwidth.value || !link.latency.value) return;
    latencies.push_back(*link.latency.value);
    bandwidths.push_back(*link.bandwidth.value);
    const size_t used = std::max<size_t>(link.nics.size(), 1);
    of_node.push_back(*link.bandwidth.value * static_cast<double>(std::max(nics_of_node, used)) /
                      static_cast<double>(used));
  }
  bool empty() const { return bandwidths.empty(); }
  WayCost cost() const { return {median(latencies), median(bandwidths)}; }
};

}  // namespace

MachineCosts default_costs() {
  MachineCosts costs;
  costs.node = {0.3, 8};
  costs.network = WayCost{10, 12};
  costs.node_network_GBps = 12;
  return costs;
}

std::optional<MachineCosts> costs_from(const Topology& topology, double reduce_GBps) {
  Links inside, across;
  std::set<int> hosts;
  for (const LinkEnd& end : topology.endpoints) hosts.insert(end.host);
  for (const Link& link : topology.links) {
    if (link.source == link.target) continue;
    const int from = topology.endpoints[static_cast<size_t>(link.source)].host,
              to = topology.endpoints[static_cast<size_t>(link.target)].host;
    (from == to ? inside : across).add(link, topology.hosts[static_cast<size_t>(from)].used_nics.size());
  }
  if ((inside.empty() && across.empty()) || (across.empty() && hosts.size() > 1)) return std::nullopt;
  MachineCosts costs = default_costs();
  costs.network.reset();
  costs.node_network_GBps = 0;
  if (!inside.empty()) costs.node = inside.cost();
  if (!across.empty()) {
    costs.network = across.cost();
    costs.node_network_GBps = median(across.of_node);
  }
  costs.reduce_GBps = reduce_GBps;
  // A rank is busy with a message for about half of the time that the shortest takes.
  costs.message_us = (inside.empty() ? across : inside).cost().alpha_us / 2;
  return costs;
}

}  // namespace wia
