// What is connected to what: hosts with their NUMA nodes, devices and NICs, and a link for every ordered pair
// of endpoints. Pure data; discovery, measurement or a file fill it.
//
// Values. Every figure says how it is known; what is not known is a legal value everywhere.
// Units: GB/s are 10^9 bytes a second, us microseconds.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/nics.hpp"

namespace wia {

enum class Evidence { measured, reported, assumed };
const char* evidence_name(Evidence evidence);

struct Figure {
  std::optional<double> value;  // nothing: unknown
  Evidence evidence = Evidence::assumed;
  std::string source;  // what was measured; where it is reported; why it is assumed, or not known
  // Of a measurement.
  uint64_t bytes = 0;   // of a message
  int repetitions = 0;  // messages
  std::string when;     // "2026-11-30T11:50:00Z"
  double spread = 0;    // (third quartile - first quartile) / median of the times
  bool operator==(const Figure&) const = default;

  static Figure unknown(std::string why) { return assumed(std::nullopt, std::move(why)); }
  static Figure assumed(std::optional<double> value, std::string why) {
    return {value, Evidence::assumed, std::move(why), 0, 0, {}, 0};
  }
  static Figure reported(double value, std::string source) {
    return {value, Evidence::reported, std::move(source), 0, 0, {}, 0};
  }
};

// Same device; memory that processes of a host share, within and across NUMA nodes; the links of
// accelerators.
enum class LinkType { self, shm, numa, pcie, nvlink, xgmi, network };
constexpr int kNumLinkTypes = 7;
const char* link_type_name(LinkType type);  // "SHM"
std::optional<LinkType> parse_link_type(std::string_view name);

// The hierarchy of the interconnect, fastest first.
enum class LinkLevel { device, node_link, pcie, network };
LinkLevel level_of(LinkType type);
const char* level_name(LinkLevel level);

struct Link {
  int source = 0, target = 0;  // endpoints
  LinkType type = LinkType::self;
  std::optional<bool> peer_access;
  Figure bandwidth;               // GB/s
  Figure latency;                 // us, one way
  std::optional<Figure> rated;    // GB/s that the hardware is said to have
  std::vector<std::string> nics;  // of the source, that carried the bytes when it was measured
  bool operator==(const Link&) const = default;
};

struct NumaNode {
  int index = 0;  // as the system counts
  std::vector<int> cpus;
  std::optional<uint64_t> memory_bytes;
  bool operator==(const NumaNode&) const = default;
};

struct Device {
  bool accelerator = false;  // else a NUMA node of the host
  std::string name, pci;
  std::optional<int> numa_node;
  bool operator==(const Device&) const = default;
};

struct Host {
  std::string id;  // equal only where processes have the same kernel and see each other and the same network
  std::string name;
  std::vector<int> cpus;            // that the process may use
  std::optional<double> cpu_quota;  // so many at a time; nothing: no quota
  std::vector<NumaNode> numa_nodes;
  std::vector<Device> devices;
  std::vector<Nic> nics;
  std::vector<std::string> used_nics;  // that WIA_NIC chooses
  bool operator==(const Host&) const = default;
};

// What links join: a rank of a communicator, or a device.
struct LinkEnd {
  int host = 0;               // in Topology::hosts
  std::optional<int> device;  // in Host::devices
  std::optional<int> numa_node;
  std::vector<int> cpus;  // that it may use
  bool operator==(const LinkEnd&) const = default;
};

struct Topology {
  std::string created;      // "2026-11-30T11:50:00Z"
  bool of_devices = false;  // endpoints are the devices of one host; else the ranks of a communicator
  std::vector<Host> hosts;
  std::vector<LinkEnd> endpoints;
  std::vector<Link> links;  // one for each ordered pair, ordered by source, then target
  bool operator==(const Topology&) const = default;

  int size() const { return static_cast<int>(endpoints.size()); }
  // Requires 0 <= source, target < size().
  Link& link(int source, int target) {
    return links[static_cast<size_t>(source) * endpoints.size() + static_cast<size_t>(target)];
  }
  const Link& link(int source, int target) const { return const_cast<Topology*>(this)->link(source, target); }
};

// What one rank knows: its host, itself, and the links it has measured.
struct TopologyPart {
  Host host;
  LinkEnd endpoint;
  std::vector<Link> links;
};
// One part a rank, in the order of ranks. Links that nobody measured get what is known without.
Topology merge(const std::vector<TopologyPart>& parts);

// The pairs (source, target) to measure: all, or, of more than `most_ranks` ranks, the first of each type for
// every two hosts (of more than 16 hosts: for neighbours).
std::vector<std::pair<int, int>> pairs_to_measure(const Topology& topology, int most_ranks);

// Links that nobody measured take the figures of a measured one between the same hosts, else of the same
// type, and say so. A rated figure goes first.
void assume_unmeasured(Topology& topology);

// One line for each link whose measured bandwidth is under half of what it is rated at.
std::vector<std::string> far_below_rated(const Topology& topology);

std::string utc_now();

}  // namespace wia
