#include "cli/topology_text.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "cli/machine.hpp"

namespace wia::cli {
namespace {

constexpr int kLargestMatrix = 16;
constexpr size_t kMostLines = 8;  // about links that are far below what is reported

// --- Tree ---------------------------------------------------------------------------------------------

std::string node_text(const std::optional<int>& numa_node) {
  return numa_node ? fmt::format("NUMA node {}", *numa_node) : "NUMA node unknown";
}

std::string nic_line(const Host& host, const Nic& nic) {
  std::vector<std::string> facts;
  for (const NicAddress& address : nic.addresses)
    facts.push_back(fmt::format("{}/{}", address.text(), address.prefix_length));
  if (nic.addresses.empty()) facts.emplace_back("no address");
  if (!nic.up) facts.emplace_back("down");
  if (nic.loopback) facts.emplace_back("loopback");
  if (nic.bridge) facts.emplace_back("bridge");
  if (nic.virtual_device && !nic.loopback && !nic.bridge) facts.emplace_back("virtual");
  facts.push_back(nic.speed_mbps ? fmt::format("{:.4g} GB/s r", nic.gigabytes_per_second())
                                 : "speed unknown");
  if (nic.mtu > 0) facts.push_back(fmt::format("MTU {}", nic.mtu));
  if (!nic.pci.empty()) facts.push_back("PCI " + nic.pci);
  const bool used = std::find(host.used_nics.begin(), host.used_nics.end(), nic.name) != host.used_nics.end();
  return fmt::format("NIC {}{}: {}", nic.name, used ? " (used)" : "", fmt::join(facts, ", "));
}

// Devices, ranks and NICs that are at this NUMA node (nothing: at none that is known).
std::string members_text(const Topology& topology, int host_index, const std::optional<int>& numa_node,
                         const std::string& indent) {
  const Host& host = topology.hosts[static_cast<size_t>(host_index)];
  std::string text;
  for (size_t d = 0; d < host.devices.size(); ++d) {
    const Device& device = host.devices[d];
    if (device.numa_node != numa_node) continue;
    text += fmt::format("{}device {}: {}{}\n", indent, d, device.name,
                        device.pci.empty() ? "" : ", PCI " + device.pci);
  }
  for (int e = 0; e < topology.size() && !topology.of_devices; ++e) {
    const LinkEnd& rank = topology.endpoints[static_cast<size_t>(e)];
    if (rank.host == host_index && rank.numa_node == numa_node)
      text += fmt::format("{}rank {}: CPUs {}\n", indent, e, ranges_text(rank.cpus));
  }
  for (const Nic& nic : host.nics)
    if (nic.numa_node == numa_node) text += indent + nic_line(host, nic) + "\n";
  return text;
}

// --- Links --------------------------------------------------------------------------------------------

std::string figure_text(const Figure& figure) {
  if (!figure.value) return "unknown";
  return fmt::format("{:.4g} {}", *figure.value, evidence_name(figure.evidence)[0]);
}

std::string matrix(const Topology& topology, const char* title,
                   const std::function<std::string(const Link&)>& cell) {
  std::string text = fmt::format("\n{}\n{:>6}", title, "");
  for (int target = 0; target < topology.size(); ++target) text += fmt::format(" {:>10}", target);
  for (int source = 0; source < topology.size(); ++source) {
    text += fmt::format("\n{:>6}", source);
    for (int target = 0; target < topology.size(); ++target)
      text += fmt::format(" {:>10}", cell(topology.link(source, target)));
  }
  return text + "\n";
}

// "1.2 to 3.4 m,a" of all links of a kind.
std::string figures_text(const std::vector<const Link*>& links, Figure Link::*which) {
  std::set<double> values;
  std::set<Evidence> evidence;
  for (const Link* link : links) {
    const Figure& figure = link->*which;
    if (!figure.value) continue;
    values.insert(*figure.value);
    evidence.insert(figure.evidence);
  }
  if (values.empty()) return "unknown";
  std::string marks;
  for (const Evidence each : evidence)
    marks += fmt::format("{}{}", marks.empty() ? "" : ",", evidence_name(each)[0]);
  const std::string most = values.size() > 1 ? fmt::format(" to {:.4g}", *values.rbegin()) : "";
  return fmt::format("{:.4g}{} {}", *values.begin(), most, marks);
}

std::string kinds_table(const Topology& topology) {
  std::map<LinkType, std::vector<const Link*>> kinds;
  for (const Link& link : topology.links) kinds[link.type].push_back(&link);
  std::string text = fmt::format("\n{:<10} {:<10} {:>9}  {:<26} {}\n", "type", "level", "links",
                                 "bandwidth GB/s", "latency us");
  for (const auto& [type, links] : kinds)
    text +=
        fmt::format("{:<10} {:<10} {:>9}  {:<26} {}\n", link_type_name(type), level_name(level_of(type)),
                    links.size(), figures_text(links, &Link::bandwidth), figures_text(links, &Link::latency));
  return text;
}

std::string matrices(const Topology& topology) {
  const auto access = [](const Link& link) {
    return std::string(!link.peer_access ? "unknown" : *link.peer_access ? "yes" : "no");
  };
  const char* what = topology.of_devices ? "device" : "rank";
  return matrix(topology, fmt::format("type, from {} (row) to {} (column)", what, what).c_str(),
                [](const Link& link) { return std::string(link_type_name(link.type)); }) +
         matrix(topology, "direct access to the other's memory", access) +
         matrix(topology, "bandwidth, GB/s", [](const Link& link) { return figure_text(link.bandwidth); }) +
         matrix(topology, "latency, us", [](const Link& link) { return figure_text(link.latency); });
}

// "3", or "3 to 100".
std::string range_text(const std::string& least, const std::string& most) {
  return least == most ? least : least + " to " + most;
}

// Under which conditions the bandwidths and latencies were measured.
std::string conditions_text(const Topology& topology) {
  std::set<uint64_t> bytes;
  std::set<int> repetitions;
  std::set<std::string> when;
  double spread = 0;
  size_t measured = 0;
  for (const Link& link : topology.links) {
    const Figure& figure = link.bandwidth;
    if (figure.evidence != Evidence::measured) continue;
    ++measured;
    bytes.insert(figure.bytes), repetitions.insert(figure.repetitions), when.insert(figure.when);
    spread = std::max(spread, figure.spread);
  }
  if (measured == 0) return "nothing was measured (wia topology -n N --measure does)\n";
  const auto size = [](uint64_t value) { return bytes_text(static_cast<double>(value)); };
  return fmt::format(
      "{} of {} links were measured, {}\n"
      "  bandwidth: best of growing messages, reached at {}, {} of them; spread up to {:.0f} %\n"
      "  latency: half the median round trip of 8 bytes\n",
      measured, topology.links.size(), range_text(*when.begin(), *when.rbegin()),
      range_text(size(*bytes.begin()), size(*bytes.rbegin())),
      range_text(std::to_string(*repetitions.begin()), std::to_string(*repetitions.rbegin())), spread * 100);
}

// "carried by eth0, eth1: 0 -> 2, 2 -> 0"
std::string carriers_text(const Topology& topology) {
  constexpr size_t kMostPairs = 8;
  std::map<std::string, std::vector<std::string>> pairs;
  for (const Link& link : topology.links)
    if (!link.nics.empty())
      pairs[fmt::format("{}", fmt::join(link.nics, ", "))].push_back(
          fmt::format("{} -> {}", link.source, link.target));
  std::string text;
  for (auto& [nics, links] : pairs) {
    const size_t more = links.size() > kMostPairs ? links.size() - kMostPairs : 0;
    links.resize(links.size() - more);
    text += fmt::format("carried by {}: {}{}\n", nics, fmt::join(links, ", "),
                        more > 0 ? fmt::format(" and {} more", more) : "");
  }
  return text;
}

}  // namespace

std::string tree_text(const Topology& topology) {
  std::string text;
  for (int h = 0; h < static_cast<int>(topology.hosts.size()); ++h) {
    const Host& host = topology.hosts[static_cast<size_t>(h)];
    text += fmt::format("host {}: CPUs {}, {}\n", host.name.empty() ? "without a name" : host.name,
                        host.cpus.empty() ? "unknown" : ranges_text(host.cpus),
                        host.cpu_quota ? fmt::format("a quota of {:g}", *host.cpu_quota) : "no quota");
    for (const NumaNode& node : host.numa_nodes) {
      text += fmt::format(
          "  {}: CPUs {}, {}\n", node_text(node.index), ranges_text(node.cpus),
          node.memory_bytes ? bytes_text(static_cast<double>(*node.memory_bytes)) : "memory unknown");
      text += members_text(topology, h, node.index, "    ");
    }
    const std::string elsewhere = members_text(topology, h, std::nullopt, "    ");
    if (!elsewhere.empty()) text += fmt::format("  {}\n{}", node_text(std::nullopt), elsewhere);
  }
  return text;
}

std::string links_text(const Topology& topology) {
  std::string text = topology.size() > kLargestMatrix ? kinds_table(topology) : matrices(topology);
  text += "\nm measured, r reported, a assumed to be as a link that is alike; unknown: nobody says\n";
  text += conditions_text(topology) + carriers_text(topology);
  for (const std::string& line : far_below_rated(topology))
    text += "far below what is reported: " + line + "\n";
  return text;
}

}  // namespace wia::cli
