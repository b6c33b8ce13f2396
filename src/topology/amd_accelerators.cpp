// AMD's accelerators, as the kernel's driver (amdkfd) shows them: ROOT/class/kfd/kfd/topology/nodes/N.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "topology/accelerators.hpp"
#include "topology/sysfs.hpp"

namespace wia {
namespace {

constexpr uint64_t kXgmi = 11;  // a link's type in include/uapi/linux/kfd_sysfs.h
constexpr int kMostNodes = 1024;

using Properties = std::map<std::string, uint64_t>;

// "name value", one a line.
Properties read_properties(const std::string& path) {
  Properties properties;
  std::ifstream file(path);
  std::string name;
  uint64_t value = 0;
  while (file >> name >> value) properties[name] = value;
  return properties;
}

// Nodes of the kernel's graph; CPUs are nodes, too.
struct KfdNode {
  std::string directory;
  int index;
};

std::vector<KfdNode> accelerator_nodes(const std::string& sysfs) {
  std::vector<KfdNode> nodes;
  for (int index = 0; index < kMostNodes; ++index) {
    const std::string directory = fmt::format("{}/class/kfd/kfd/topology/nodes/{}", sysfs, index);
    if (!sysfs::exists(directory)) break;
    if (read_properties(directory + "/properties")["simd_count"] > 0) nodes.push_back({directory, index});
  }
  return nodes;
}

Device describe(const KfdNode& node, const std::string& sysfs) {
  Properties properties = read_properties(node.directory + "/properties");
  const uint64_t location = properties["location_id"];
  Device device;
  device.accelerator = true;
  device.name = sysfs::line(node.directory + "/name");
  if (device.name.empty()) device.name = "accelerator";
  device.pci = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", properties["domain"], location >> 8 & 0xff,
                           location >> 3 & 0x1f, location & 7);
  device.numa_node = sysfs::numa_node_of(fmt::format("{}/bus/pci/devices/{}", sysfs, device.pci));
  return device;
}

// What the kernel says of the way from one node to another; empty: nothing.
Properties link_properties(const KfdNode& from, const KfdNode& to, std::string* path) {
  for (const char* kind : {"io_links", "p2p_links"})
    for (int index = 0; index < kMostNodes; ++index) {
      *path = fmt::format("{}/{}/{}/properties", from.directory, kind, index);
      Properties properties = read_properties(*path);
      if (properties.empty()) break;
      if (properties["node_to"] == static_cast<uint64_t>(to.index)) return properties;
    }
  return {};
}

Link link_between(const std::vector<KfdNode>& nodes, int source, int target) {
  Link link;
  link.source = source, link.target = target;
  link.bandwidth = link.latency = Figure::unknown("not measured");
  if (source == target) {
    link.peer_access = true;
    return link;
  }
  std::string path;
  Properties properties =
      link_properties(nodes[static_cast<size_t>(source)], nodes[static_cast<size_t>(target)], &path);
  link.type = properties["type"] == kXgmi ? LinkType::xgmi : LinkType::pcie;
  if (link.type == LinkType::xgmi) link.peer_access = true;
  if (const uint64_t megabytes = properties["max_bandwidth"]; megabytes > 0)
    link.rated = link.bandwidth = Figure::reported(static_cast<double>(megabytes) / 1000, path);
  return link;
}

}  // namespace

Accelerators discover_amd_accelerators(const std::string& sysfs) {
  Accelerators found;
  const std::vector<KfdNode> nodes = accelerator_nodes(sysfs);
  for (const KfdNode& node : nodes) found.devices.push_back(describe(node, sysfs));
  const int devices = static_cast<int>(nodes.size());
  for (int source = 0; source < devices; ++source)
    for (int target = 0; target < devices; ++target)
      found.links.push_back(link_between(nodes, source, target));
  return found;
}

}  // namespace wia
