// Topologies to test with.
#pragma once
#include <arpa/inet.h>

#include <string>

#include "topology/topology.hpp"

namespace wia {

inline Nic example_nic(const std::string& name, std::optional<int64_t> speed_mbps) {
  Nic nic;
  nic.name = name;
  nic.index = 2;
  nic.up = true;
  nic.addresses.emplace_back();
  nic.addresses[0].family = AF_INET;
  inet_pton(AF_INET, "10.0.0.1", nic.addresses[0].bytes);
  nic.addresses[0].prefix_length = 24;
  nic.speed_mbps = speed_mbps;
  return nic;
}

inline Figure measured_figure(double value) {
  Figure figure;
  figure.value = value;
  figure.evidence = Evidence::measured;
  figure.source = "messages";
  figure.bytes = 1 << 20;
  figure.repetitions = 100;
  figure.when = "2026-11-30T11:50:00Z";
  figure.spread = 0.25;
  return figure;
}

inline Link measured_link(int source, int target, double bandwidth, double latency) {
  Link link;
  link.source = source, link.target = target;
  link.bandwidth = measured_figure(bandwidth);
  link.latency = measured_figure(latency);
  return link;
}

// Rank `rank` of hosts with two NUMA nodes, four ranks each, and one NIC of 10 Gbit/s.
inline TopologyPart example_part(int rank) {
  TopologyPart part;
  part.host.id = part.host.name = "node" + std::to_string(rank / 4);
  part.host.cpus = {rank % 4};
  part.host.numa_nodes = {{0, {0, 1}, uint64_t{1} << 34}, {1, {2, 3}, std::nullopt}};
  part.host.devices = {{false, "NUMA node 0", "", 0}, {false, "NUMA node 1", "", 1}};
  part.host.nics = {example_nic("eth0", 10'000)};
  part.host.used_nics = {"eth0"};
  part.endpoint.numa_node = part.endpoint.device = rank % 4 / 2;
  part.endpoint.cpus = {rank % 4};
  return part;
}

inline Topology example_topology(int ranks, const std::vector<Link>& measured = {}) {
  std::vector<TopologyPart> parts;
  for (int r = 0; r < ranks; ++r) parts.push_back(example_part(r));
  for (const Link& link : measured) parts[static_cast<size_t>(link.source)].links.push_back(link);
  return merge(parts);
}

}  // namespace wia
