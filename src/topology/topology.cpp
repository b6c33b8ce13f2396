#include "topology/topology.hpp"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

namespace wia {
namespace {

constexpr int kAllPairsOfHosts = 16;

constexpr const char* kTypeNames[kNumLinkTypes] = {"SELF",   "SHM",  "NUMA",   "PCIE",
                                                   "NVLINK", "XGMI", "NETWORK"};

LinkType type_between(const LinkEnd& a, const LinkEnd& b) {
  if (a.host != b.host) return LinkType::network;
  return a.numa_node && b.numa_node && a.numa_node != b.numa_node ? LinkType::numa : LinkType::shm;
}

// The speeds of these NICs of a host, together.
std::optional<Figure> rated_speed(const Host& host, const std::vector<std::string>& names) {
  double sum = 0;
  std::string source;
  for (const Nic& nic : host.nics) {
    if (std::find(names.begin(), names.end(), nic.name) == names.end()) continue;
    if (!nic.speed_mbps) return std::nullopt;
    sum += nic.gigabytes_per_second();
    source += fmt::format("{}{}", source.empty() ? "" : " + ", nic.speed_source());
  }
  return source.empty() ? std::nullopt : std::optional(Figure::reported(sum, source));
}

std::optional<Figure> rated_network(const Host& source, const Host& target) {
  auto one = rated_speed(source, source.used_nics), other = rated_speed(target, target.used_nics);
  if (!one || !other) return std::nullopt;
  return *one->value <= *other->value ? one : other;
}

Link unmeasured(const Topology& topology, int source, int target) {
  const LinkEnd &from = topology.endpoints[static_cast<size_t>(source)],
                &to = topology.endpoints[static_cast<size_t>(target)];
  Link link;
  link.source = source, link.target = target;
  link.type = source == target ? LinkType::self : type_between(from, to);
  if (link.type != LinkType::network)
    link.peer_access = true;  // processes of a host read each other's memory
  link.bandwidth = link.latency = Figure::unknown("not measured");
  if (link.type == LinkType::network) {
    link.peer_access = false;
    link.rated = rated_network(topology.hosts[static_cast<size_t>(from.host)],
                               topology.hosts[static_cast<size_t>(to.host)]);
    if (link.rated) link.bandwidth = *link.rated;
  }
  return link;
}

// What is alike: links of one type between the same two hosts.
std::tuple<int, int, LinkType> kind_of(const Topology& topology, const Link& link) {
  return {topology.endpoints[static_cast<size_t>(link.source)].host,
          topology.endpoints[static_cast<size_t>(link.target)].host, link.type};
}

bool measured(const Link& link) { return link.bandwidth.evidence == Evidence::measured; }

}  // namespace

const char* evidence_name(Evidence evidence) {
  static constexpr const char* kNames[] = {"measured", "reported", "assumed"};
  return kNames[static_cast<size_t>(evidence)];
}

const char* link_type_name(LinkType type) { return kTypeNames[static_cast<size_t>(type)]; }

std::optional<LinkType> parse_link_type(std::string_view name) {
  for (size_t i = 0; i < std::size(kTypeNames); ++i)
    if (name == kTypeNames[i]) return static_cast<LinkType>(i);
  return std::nullopt;
}

LinkLevel level_of(LinkType type) {
  switch (type) {
    case LinkType::self:
      return LinkLevel::device;
    case LinkType::pcie:
      return LinkLevel::pcie;
    case LinkType::network:
      return LinkLevel::network;
    default:
      return LinkLevel::node_link;
  }
}

const char* level_name(LinkLevel level) {
  static constexpr const char* kNames[] = {"device", "node link", "PCIe", "network"};
  return kNames[static_cast<size_t>(level)];
}

Topology merge(const std::vector<TopologyPart>& parts) {
  Topology topology;
  topology.created = utc_now();
  for (const TopologyPart& part : parts) {
    auto host = std::find_if(topology.hosts.begin(), topology.hosts.end(),
                             [&](const Host& known) { return known.id == part.host.id; });
    if (host == topology.hosts.end()) host = topology.hosts.insert(host, part.host);
    // Ranks may be bound to CPUs each: the host has those of all.
    std::vector<int> cpus;
    std::set_union(host->cpus.begin(), host->cpus.end(), part.host.cpus.begin(), part.host.cpus.end(),
                   std::back_inserter(cpus));
    host->cpus = std::move(cpus);
    topology.endpoints.push_back(part.endpoint);
    topology.endpoints.back().host = static_cast<int>(host - topology.hosts.begin());
  }
  for (int source = 0; source < topology.size(); ++source)
    for (int target = 0; target < topology.size(); ++target)
      topology.links.push_back(unmeasured(topology, source, target));
  for (const TopologyPart& part : parts)
    for (const Link& known : part.links) {
      if (known.source >= topology.size() || known.target >= topology.size()) continue;
      Link& link = topology.link(known.source, known.target);
      link.bandwidth = known.bandwidth;
      link.latency = known.latency;
      link.nics = known.nics;
      // A link that uses some of the NICs is held to these.
      if (link.type == LinkType::network && !link.nics.empty())
        if (const auto carriers = rated_speed(part.host, link.nics); carriers && link.rated)
          link.rated = *carriers->value < *link.rated->value ? carriers : link.rated;
    }
  return topology;
}

std::vector<std::pair<int, int>> pairs_to_measure(const Topology& topology, int most_ranks) {
  const int hosts = static_cast<int>(topology.hosts.size());
  const auto far_apart = [&](int a, int b) {
    const int distance = std::abs(a - b);
    return hosts > kAllPairsOfHosts && distance > 1 && distance < hosts - 1;
  };
  std::vector<std::pair<int, int>> pairs;
  std::set<std::tuple<int, int, LinkType>> kinds;
  for (const Link& link : topology.links) {
    const auto kind = kind_of(topology, link);
    const bool sampled = !far_apart(std::get<0>(kind), std::get<1>(kind)) && kinds.insert(kind).second;
    if (topology.size() <= most_ranks || sampled) pairs.emplace_back(link.source, link.target);
  }
  return pairs;
}

void assume_unmeasured(Topology& topology) {
  std::map<std::tuple<int, int, LinkType>, const Link*> between_hosts;
  std::map<LinkType, const Link*> of_type;
  for (const Link& link : topology.links) {
    if (!measured(link)) continue;
    between_hosts.emplace(kind_of(topology, link), &link);
    of_type.emplace(link.type, &link);
  }
  const auto take = [](Figure& figure, const Figure& known, const std::string& why) {
    if (figure.evidence == Evidence::assumed && !figure.value) figure = Figure::assumed(known.value, why);
  };
  for (Link& link : topology.links) {
    if (measured(link)) continue;
    const auto nearest = between_hosts.find(kind_of(topology, link));
    const auto alike = of_type.find(link.type);
    if (alike == of_type.end()) continue;
    const Link& known = nearest != between_hosts.end() ? *nearest->second : *alike->second;
    const std::string why = fmt::format("as measured from {} to {}", known.source, known.target);
    take(link.bandwidth, known.bandwidth, why);
    take(link.latency, known.latency, why);
  }
}

std::vector<std::string> far_below_rated(const Topology& topology) {
  std::vector<std::string> lines;
  for (const Link& link : topology.links) {
    if (!measured(link) || !link.bandwidth.value || !link.rated || !link.rated->value) continue;
    const double share = *link.bandwidth.value / *link.rated->value;
    if (share < 0.5)
      lines.push_back(fmt::format("{} -> {}: measured {:.3g} GB/s, {:.0f} % of the {:.3g} GB/s of {}",
                                  link.source, link.target, *link.bandwidth.value, share * 100,
                                  *link.rated->value, link.rated->source));
  }
  return lines;
}

std::string utc_now() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace wia
