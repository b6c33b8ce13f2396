#include <algorithm>
#include <map>

#include "base/median.hpp"
#include "simulate/machine_model.hpp"

namespace wia {
namespace {

// Figures of one kind, and their median: of those that were measured, if any were.
class Figures {
 public:
  void add(const Figure& figure, double divisor = 1) {
    if (!figure.value || *figure.value <= 0) return;
    by_evidence_[figure.evidence].push_back(*figure.value / divisor);
  }
  Figure median(const char* what, const std::string& file) const {
    if (by_evidence_.empty()) return Figure::unknown("no link tells it");
    const std::vector<double>& values = by_evidence_.begin()->second;
    Figure figure;
    figure.value = wia::median(values);
    figure.evidence = by_evidence_.begin()->first;
    figure.source = fmt::format("median {} of {} links in {}", what, values.size(), file);
    return figure;
  }

 private:
  std::map<Evidence, std::vector<double>> by_evidence_;  // measured first
};

struct LevelFigures {
  Figures alpha, bandwidth;
  void add(const Link& link) {
    alpha.add(link.latency);
    bandwidth.add(link.bandwidth, std::max<double>(1, static_cast<double>(link.nics.size())));
  }
  Way way(const std::string& file) const {
    return {alpha.median("latency", file), bandwidth.median("bandwidth", file)};
  }
};

int most_ranks_of_a_host(const Topology& topology) {
  std::vector<int> ranks(topology.hosts.size());
  for (const LinkEnd& end : topology.endpoints) ++ranks[static_cast<size_t>(end.host)];
  return ranks.empty() ? 0 : *std::max_element(ranks.begin(), ranks.end());
}

int most_nics_of_a_host(const Topology& topology) {
  size_t most = 1;
  for (const Host& host : topology.hosts) most = std::max(most, host.used_nics.size());
  return static_cast<int>(most);
}

}  // namespace

Result<MachineModel> machine_model_of(const Topology& topology, const std::string& name) {
  MachineModel model;
  model.name = name;
  model.ranks_per_node = most_ranks_of_a_host(topology);
  if (model.ranks_per_node == 0) return Status::error(Code::invalid_argument, "{}: has no endpoints", name);
  LevelFigures self, node, network;
  for (const Link& link : topology.links)
    (link.type == LinkType::self ? self : link.type == LinkType::network ? network : node).add(link);
  model.node = node.way(name);
  model.network = network.way(name);
  const auto incomplete = [](const Way& way) { return !way.alpha_us.value || !way.bandwidth_GBps.value; };
  if (model.ranks_per_node > 1 && incomplete(model.node))
    return Status::error(Code::invalid_argument,
                         "{}: no link inside a host has a latency and a bandwidth: measure them", name);
  if (topology.hosts.size() > 1 && incomplete(model.network))
    return Status::error(Code::invalid_argument,
                         "{}: no link between hosts has a latency and a bandwidth: measure them", name);
  if (!model.one_node()) model.nics_per_node = most_nics_of_a_host(topology);
  model.description = fmt::format("{} endpoints on {} hosts", topology.size(), topology.hosts.size());

  const char* untold = "a topology does not tell it";
  const Figure copy = self.way(name).bandwidth_GBps;
  model.copy_GBps = copy.value ? copy : Figure::assumed(10, untold);
  model.reduce_GBps =
      Figure::assumed(*model.copy_GBps.value * 2 / 3, "a sum reads two and writes one, a copy one each");
  model.overhead_us = Figure::assumed(0.5, untold);
  model.call_us = Figure::assumed(1, untold);
  model.node_total_GBps = model.group_GBps = Figure::unknown(untold);
  return model;
}

}  // namespace wia
