#include "topology/discover.hpp"

#include <fmt/core.h>
#include <hwloc.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/machine.hpp"
#include "topology/accelerators.hpp"
#include "topology/sysfs.hpp"

namespace wia {
namespace {

// Closes what hwloc has loaded.
class Hwloc {
 public:
  explicit Hwloc(const std::string& synthetic) {
    if (hwloc_topology_init(&topology_) != 0) topology_ = nullptr;
    if (!topology_) return;
    if (!synthetic.empty()) hwloc_topology_set_synthetic(topology_, synthetic.c_str());
    loaded_ = hwloc_topology_load(topology_) == 0;
  }
  Hwloc(const Hwloc&) = delete;
  Hwloc& operator=(const Hwloc&) = delete;
  ~Hwloc() {
    if (topology_) hwloc_topology_destroy(topology_);
  }
  std::vector<NumaNode> numa_nodes() const {
    std::vector<NumaNode> nodes;
    if (!loaded_) return nodes;
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, object)) != nullptr) {
      NumaNode node;
      node.index = static_cast<int>(object->os_index);
      for (int cpu = -1; (cpu = hwloc_bitmap_next(object->cpuset, cpu)) >= 0;) node.cpus.push_back(cpu);
      if (object->attr->numanode.local_memory > 0) node.memory_bytes = object->attr->numanode.local_memory;
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

 private:
  hwloc_topology_t topology_ = nullptr;
  bool loaded_ = false;
};

// Two processes have the same id only if they run on the same kernel, see the same /dev/shm and the same
// network.
std::string host_id() {
  std::string id = sysfs::line("/proc/sys/kernel/random/boot_id");
  for (const char* path : {"/proc/self/ns/pid", "/proc/self/ns/net"}) {
    struct stat status {};
    if (stat(path, &status) == 0) id += fmt::format(":{:x}.{:x}", status.st_dev, status.st_ino);
  }
  return id;
}

std::vector<Device> numa_devices(const std::vector<NumaNode>& nodes) {
  std::vector<Device> devices;
  for (const NumaNode& node : nodes)
    devices.push_back({false, fmt::format("NUMA node {}", node.index), "", node.index});
  // As wia_get_device_count: without NUMA facts the host is one device.
  if (devices.empty()) devices.push_back({false, "host memory", "", std::nullopt});
  return devices;
}

// A host with those of two makers shows the first.
Accelerators discover_accelerators(const std::string& sysfs) {
  Accelerators found = discover_nvidia_accelerators();
  return found.devices.empty() ? discover_amd_accelerators(sysfs) : found;
}

Host host_without_devices(const std::string& nic_rule, const DiscoverySources& sources) {
  Host host;
  host.name = host_name();
  host.id = host_id();
  host.cpus = affinity();
  if (const double quota = quota_cpus(); quota < 1e6) host.cpu_quota = quota;
  host.numa_nodes = Hwloc(sources.hwloc).numa_nodes();
  host.nics = list_nics(sources.sysfs);
  if (auto chosen = select_nics(host.nics, nic_rule))
    for (const Nic& nic : *chosen) host.used_nics.push_back(nic.name);
  return host;
}

// Between NUMA nodes, whose memory every process of the host reaches.
Link numa_link(int source, int target) {
  Link link;
  link.source = source, link.target = target;
  link.type = source == target ? LinkType::self : LinkType::numa;
  link.peer_access = true;
  link.bandwidth = link.latency = Figure::unknown("not measured");
  return link;
}

}  // namespace

Host discover_host(const std::string& nic_rule, const DiscoverySources& sources) {
  Host host = host_without_devices(nic_rule, sources);
  host.devices = discover_accelerators(sources.sysfs).devices;
  if (host.devices.empty()) host.devices = numa_devices(host.numa_nodes);
  return host;
}

LinkEnd discover_endpoint(const Host& host) {
  LinkEnd endpoint;
  endpoint.cpus = affinity();
  const auto inside = [&](const NumaNode& node) {
    return std::includes(node.cpus.begin(), node.cpus.end(), endpoint.cpus.begin(), endpoint.cpus.end());
  };
  const auto node = std::find_if(host.numa_nodes.begin(), host.numa_nodes.end(), inside);
  if (node == host.numa_nodes.end()) return endpoint;
  endpoint.numa_node = node->index;
  for (size_t d = 0; d < host.devices.size(); ++d)
    if (!host.devices[d].accelerator && host.devices[d].numa_node == node->index)
      endpoint.device = static_cast<int>(d);
  return endpoint;
}

Topology discover_devices(const std::string& nic_rule, const DiscoverySources& sources) {
  Topology topology;
  topology.created = utc_now();
  topology.of_devices = true;
  Host host = host_without_devices(nic_rule, sources);
  Accelerators accelerators = discover_accelerators(sources.sysfs);
  host.devices = accelerators.devices.empty() ? numa_devices(host.numa_nodes) : accelerators.devices;
  topology.links = std::move(accelerators.links);
  const int count = static_cast<int>(host.devices.size());
  for (int d = 0; d < count; ++d) {
    const Device& device = host.devices[static_cast<size_t>(d)];
    topology.endpoints.push_back({0, d, device.numa_node, {}});
  }
  if (topology.links.empty())
    for (int source = 0; source < count; ++source)
      for (int target = 0; target < count; ++target) topology.links.push_back(numa_link(source, target));
  topology.hosts.push_back(std::move(host));
  return topology;
}

}  // namespace wia
