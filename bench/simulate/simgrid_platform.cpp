#include "simgrid_platform.hpp"

#include <fmt/core.h>
#include <xbt/log.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace wia {
namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;

constexpr int kNodesPerRouter = 4;
constexpr double kUnlimited = 1e18;  // bytes a second

double seconds(const Figure& us) { return us.value.value_or(0) * 1e-6; }
double bytes_per_second(const Figure& gigabytes) {
  return gigabytes.value ? *gigabytes.value * 1e9 : kUnlimited;
}

unsigned divide_up(int a, int b) { return static_cast<unsigned>((a + b - 1) / b); }

class NodeZone {
 public:
  NodeZone(const s4u::NetZone* parent, const MachineModel& machine, unsigned long index, int ranks)
      : zone_(s4u::create_full_zone(fmt::format("node{}", index))), machine_(machine) {
    zone_->set_parent(parent);
    router_ = zone_->create_router(fmt::format("node{}-router", index));
    for (int r = 0; r < ranks; ++r)
      hosts_.push_back(zone_->create_host(fmt::format("node{}-rank{}", index, r), 1e9));
    join_ranks();
    join_router();
    zone_->seal();
  }
  std::pair<NetPoint*, NetPoint*> ends() const { return {zone_->get_netpoint(), router_}; }
  const std::vector<s4u::Host*>& hosts() const { return hosts_; }

 private:
  s4u::Link* link(const char* what, size_t number, double bandwidth, double latency) {
    return zone_->create_link(fmt::format("{}-{}{}", zone_->get_name(), what, number), bandwidth)
        ->set_latency(latency)
        ->seal();
  }
  void route(NetPoint* from, NetPoint* to, const std::vector<s4u::Link*>& links) {
    std::vector<s4u::LinkInRoute> way(links.begin(), links.end());
    zone_->add_route(from, to, nullptr, nullptr, way, false);
  }
  std::vector<s4u::Link*> ends_of_way(const char* what, size_t count, const Way& way, double bandwidth) {
    std::vector<s4u::Link*> links;
    for (size_t i = 0; i < count; ++i) links.push_back(link(what, i, bandwidth, seconds(way.alpha_us) / 2));
    return links;
  }

  void join_ranks() {
    const double bandwidth = bytes_per_second(machine_.node.bandwidth_GBps);
    const auto out = ends_of_way("port-out", hosts_.size(), machine_.node, bandwidth),
               in = ends_of_way("port-in", hosts_.size(), machine_.node, bandwidth);
    s4u::Link* all = machine_.node_total_GBps.value
                         ? link("all", 0, bytes_per_second(machine_.node_total_GBps), 0)
                         : nullptr;
    for (size_t a = 0; a < hosts_.size(); ++a)
      for (size_t b = 0; b < hosts_.size(); ++b) {
        if (a == b) continue;
        std::vector<s4u::Link*> links = {out[a], in[b]};
        if (all) links.push_back(all);
        route(hosts_[a]->get_netpoint(), hosts_[b]->get_netpoint(), links);
      }
  }

  // Ranks share NICs, or a rank stripes over several, which then are one.
  void join_router() {
    const int nics = std::min(machine_.nics_per_node, machine_.ranks_per_node);
    const double bandwidth =
        bytes_per_second(machine_.network.bandwidth_GBps) * machine_.nics_per_node / nics;
    const auto out = ends_of_way("nic-out", static_cast<size_t>(nics), machine_.network, bandwidth),
               in = ends_of_way("nic-in", static_cast<size_t>(nics), machine_.network, bandwidth);
    for (size_t r = 0; r < hosts_.size(); ++r) {
      const size_t nic = r * static_cast<size_t>(nics) / static_cast<size_t>(machine_.ranks_per_node);
      route(hosts_[r]->get_netpoint(), router_, {out[nic]});
      route(router_, hosts_[r]->get_netpoint(), {in[nic]});
    }
  }

  s4u::NetZone* zone_;
  const MachineModel& machine_;
  NetPoint* router_;
  std::vector<s4u::Host*> hosts_;
};

}  // namespace

void configure_simgrid() {
  xbt_log_control_set("xbt_cfg.thresh:warning");  // else it reports each of these
  for (const char* setting : {"network/model:CM02", "network/bandwidth-factor:1", "network/latency-factor:1",
                              "network/weight-S:0", "network/TCP-gamma:0", "network/crosstraffic:0",
                              "surf/precision:1e-11", "maxmin/precision:1e-2", "contexts/stack-size:256"})
    s4u::Engine::set_config(setting);
}

std::vector<s4u::Host*> build_platform(const MachineModel& machine, int ranks, Fabric fabric) {
  const int nodes = static_cast<int>(divide_up(ranks, machine.ranks_per_node));
  const int in_group = machine.nodes_per_group > 0 ? std::min(machine.nodes_per_group, nodes) : nodes;
  const unsigned routers = divide_up(in_group, kNodesPerRouter),
                 groups = divide_up(nodes, static_cast<int>(routers) * kNodesPerRouter);
  std::vector<s4u::Host*> hosts;
  const auto leaf = [&](const s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long index) {
    const int first = static_cast<int>(index) * machine.ranks_per_node;
    const NodeZone node(zone, machine, index, std::clamp(ranks - first, 0, machine.ranks_per_node));
    hosts.insert(hosts.end(), node.hosts().begin(), node.hosts().end());
    return node.ends();
  };
  const bool ideal = fabric == Fabric::ideal;
  const double injected = bytes_per_second(machine.network.bandwidth_GBps) * machine.nics_per_node;
  s4u::create_dragonfly_zone(
      "fabric", nullptr, {{groups, 1}, {1, 1}, {routers, 1}, kNodesPerRouter}, s4u::ClusterCallbacks(leaf),
      ideal ? kUnlimited : injected, 0,
      ideal ? s4u::Link::SharingPolicy::FATPIPE : s4u::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
  return hosts;
}

}  // namespace wia
