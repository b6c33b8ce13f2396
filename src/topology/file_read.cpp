#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/json_node.hpp"
#include "base/parse.hpp"
#include "base/read_file.hpp"
#include "topology/file.hpp"

namespace wia {
namespace {

constexpr size_t kLargestFile = size_t{1} << 30;
constexpr int64_t kMostItems = JsonNode::kMostItems;

using Node = JsonNode;

Figure read_figure(Node node) {
  Figure figure;
  const std::string evidence = node.member("evidence").string();
  if (evidence != "measured" && evidence != "reported" && evidence != "assumed")
    node.member("evidence").refuse_value("measured, reported or assumed");
  figure.evidence = evidence == "measured"   ? Evidence::measured
                    : evidence == "reported" ? Evidence::reported
                                             : Evidence::assumed;
  figure.value = maybe(node.optional_member("value"), [](const Node& n) { return n.number(); });
  figure.source = text_or_empty(node.optional_member("source"));
  if (figure.evidence == Evidence::measured) {
    if (!figure.value) node.refuse("\"value\" is missing, but it is measured");
    figure.bytes = static_cast<uint64_t>(node.member("bytes").integer(0, INT64_MAX));
    figure.repetitions = static_cast<int>(node.member("repetitions").integer(1, INT32_MAX));
    figure.when = node.member("when").string();
    figure.spread = node.member("spread").number();
  }
  node.no_others();
  return figure;
}

NicAddress read_address(const Node& node) {
  const std::string text = node.string();
  const size_t slash = text.find('/');
  const std::string host = text.substr(0, slash);
  NicAddress address;
  address.family = host.find(':') == std::string::npos ? AF_INET : AF_INET6;
  const auto length = slash == std::string::npos ? std::nullopt : parse_integer(text.substr(slash + 1));
  if (inet_pton(address.family, host.c_str(), address.bytes) != 1 || !length || *length < 0 ||
      *length > (address.family == AF_INET ? 32 : 128))
    node.refuse_value("an address, as 192.0.2.1/24");
  address.prefix_length = static_cast<int>(*length);
  return address;
}

Nic read_nic(Node node) {
  Nic nic;
  nic.name = node.member("name").string();
  nic.index = static_cast<unsigned>(node.member("index").integer(0, INT32_MAX));
  nic.up = node.member("up").boolean();
  const auto flag = [&](const char* name) {
    return maybe(node.optional_member(name), [](const Node& n) { return n.boolean(); }).value_or(false);
  };
  nic.loopback = flag("loopback");
  nic.bridge = flag("bridge");
  nic.virtual_device = flag("virtual");
  nic.addresses = node.member("addresses").array(read_address);
  if (const auto speed = maybe(node.optional_member("speed"), read_figure); speed && speed->value)
    nic.speed_mbps = std::llround(std::min(*speed->value, 1e12) * 8000);
  nic.mtu = maybe(node.optional_member("mtu"), as_count).value_or(0);
  nic.numa_node = maybe(node.optional_member("numa_node"), as_count);
  nic.pci = text_or_empty(node.optional_member("pci"));
  node.no_others();
  return nic;
}

NumaNode read_numa_node(Node node) {
  NumaNode numa;
  numa.index = node.member("index").count();
  numa.cpus = node.member("cpus").array(as_count);
  numa.memory_bytes = maybe(node.optional_member("memory_bytes"),
                            [](const Node& n) { return static_cast<uint64_t>(n.integer(0, INT64_MAX)); });
  node.no_others();
  return numa;
}

Device read_device(Node node) {
  Device device;
  const std::string kind = node.member("kind").string();
  if (kind != "accelerator" && kind != "numa_node")
    node.member("kind").refuse_value("accelerator or numa_node");
  device.accelerator = kind == "accelerator";
  device.name = node.member("name").string();
  device.pci = text_or_empty(node.optional_member("pci"));
  device.numa_node = maybe(node.optional_member("numa_node"), as_count);
  node.no_others();
  return device;
}

Host read_host(Node node) {
  Host host;
  host.id = node.member("id").string();
  host.name = node.member("name").string();
  host.cpus = node.member("cpus").array(as_count);
  host.cpu_quota = maybe(node.optional_member("cpu_quota"), [](const Node& n) { return n.number(); });
  host.numa_nodes = node.member("numa_nodes").array(read_numa_node);
  host.devices = node.member("devices").array(read_device);
  host.nics = node.member("nics").array(read_nic);
  host.used_nics = node.member("used_nics").array(as_string);
  node.no_others();
  return host;
}

LinkEnd read_endpoint(Node node, const std::vector<Host>& hosts) {
  LinkEnd endpoint;
  endpoint.host = static_cast<int>(node.member("host").integer(0, static_cast<int64_t>(hosts.size()) - 1));
  const auto devices = static_cast<int64_t>(hosts[static_cast<size_t>(endpoint.host)].devices.size());
  endpoint.device = maybe(node.optional_member("device"),
                          [&](const Node& n) { return static_cast<int>(n.integer(0, devices - 1)); });
  endpoint.numa_node = maybe(node.optional_member("numa_node"), as_count);
  endpoint.cpus = node.member("cpus").array(as_count);
  node.no_others();
  return endpoint;
}

Link read_link(Node node, int64_t endpoints) {
  Link link;
  link.source = static_cast<int>(node.member("source").integer(0, endpoints - 1));
  link.target = static_cast<int>(node.member("target").integer(0, endpoints - 1));
  const auto type = parse_link_type(node.member("type").string());
  if (!type) node.member("type").refuse_value("SELF, SHM, NUMA, PCIE, NVLINK, XGMI or NETWORK");
  link.type = *type;
  text_or_empty(node.optional_member("level"));  // follows from the type
  link.peer_access = maybe(node.optional_member("peer_access"), [](const Node& n) { return n.boolean(); });
  link.bandwidth = read_figure(node.member("bandwidth_GBps"));
  link.latency = read_figure(node.member("latency_us"));
  link.rated = maybe(node.optional_member("rated_GBps"), read_figure);
  link.nics = node.member("nics").array(as_string);
  node.no_others();
  return link;
}

// Every pair once, in order.
std::vector<Link> complete(std::vector<Link> links, size_t endpoints, const Node& place) {
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return std::pair(a.source, a.target) < std::pair(b.source, b.target);
  });
  for (size_t i = 0; i < endpoints * endpoints; ++i) {
    const auto source = static_cast<int>(i / endpoints), target = static_cast<int>(i % endpoints);
    if (i >= links.size() || std::pair(links[i].source, links[i].target) > std::pair(source, target))
      place.refuse(fmt::format("the link from {} to {} is missing", source, target));
    if (std::pair(links[i].source, links[i].target) < std::pair(source, target))
      place.refuse(fmt::format("the link from {} to {} is there twice", links[i].source, links[i].target));
  }
  if (links.size() > endpoints * endpoints)
    place.refuse(
        fmt::format("the link from {} to {} is there twice", links.back().source, links.back().target));
  return links;
}

Topology read_topology(Node node) {
  Topology topology;
  if (node.member("schema").string() != "wia.topology/1")
    node.member("schema").refuse_value("\"wia.topology/1\"");
  topology.created = text_or_empty(node.optional_member("created"));
  const std::string kind = node.member("endpoints_are").string();
  if (kind != "ranks" && kind != "devices") node.member("endpoints_are").refuse_value("ranks or devices");
  topology.of_devices = kind == "devices";
  topology.hosts = node.member("hosts").array(read_host);
  topology.endpoints =
      node.member("endpoints").array([&](const Node& n) { return read_endpoint(n, topology.hosts); });
  const auto endpoints = static_cast<int64_t>(topology.endpoints.size());
  const Node links = node.member("links");
  topology.links = complete(links.array([&](const Node& n) { return read_link(n, endpoints); }),
                            topology.endpoints.size(), links);
  node.no_others();
  return topology;
}

TopologyPart read_part(Node node) {
  TopologyPart part;
  part.host = read_host(node.member("host"));
  part.endpoint = read_endpoint(node.member("endpoint"), {part.host});
  part.links = node.member("links").array([](const Node& n) { return read_link(n, kMostItems); });
  node.no_others();
  return part;
}

}  // namespace

Result<Topology> topology_from_text(std::string_view text, const std::string& name) {
  return read_json(text, name, [](const Node& node) { return read_topology(node); });
}

Result<TopologyPart> part_from_text(std::string_view text, const std::string& name) {
  return read_json(text, name, [](const Node& node) { return read_part(node); });
}

Result<Topology> read_topology(const std::string& path) {
  auto text = read_file(path, kLargestFile);
  if (!text) return text.take_status();
  return topology_from_text(*text, path);
}

}  // namespace wia
