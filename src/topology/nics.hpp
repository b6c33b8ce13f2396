// The network interfaces of this host, and which of them the library uses.
//
// Data and pure functions, but for list_nics() and the two that it is made of. Thread safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace wia {

struct NicAddress {
  int family = 0;  // AF_INET (4 bytes) or AF_INET6 (16 bytes)
  uint8_t bytes[16] = {};
  int prefix_length = 0;
  std::string text() const;  // "192.0.2.2", "fd00::2"
  bool link_local_v6() const;
  bool operator==(const NicAddress&) const = default;
};

struct Nic {
  std::string name;
  unsigned index = 0;  // as if_nametoindex gives it
  bool up = false;     // set up and connected
  bool loopback = false;
  std::vector<NicAddress> addresses;  // IPv4 before IPv6
  // As sysfs tells; what it does not tell is nothing, empty, 0 or false.
  std::optional<int64_t> speed_mbps;  // rated, Mbit/s
  int mtu = 0;
  bool bridge = false;
  bool virtual_device = false;  // no hardware of its own
  std::optional<int> numa_node;
  std::string pci;  // address, "0000:3b:00.1"
  bool operator==(const Nic&) const = default;

  double gigabytes_per_second() const { return static_cast<double>(speed_mbps.value_or(0)) / 8000; }
  std::string speed_source() const { return "/sys/class/net/" + name + "/speed"; }
};

// All interfaces, in natural order: eth2 before eth10.
std::vector<Nic> list_nics(const std::string& sysfs = "/sys");

// What getifaddrs tells, in no order.
std::vector<Nic> list_interfaces();
// Adds what stands under ROOT/class/net. A directory of another interface that has the same name, as a
// network namespace without a sysfs of its own sees it, is passed over.
void add_sysfs_facts(std::vector<Nic>& nics, const std::string& root);
// Bytes that it has sent so far, as ROOT/class/net tells.
std::optional<uint64_t> sent_bytes(const Nic& nic, const std::string& root = "/sys");

// Those that WIA_NIC=`rule` chooses, in natural order; docs/configuration.md has the grammar. All are up and
// have an address. A rule that cannot be read or leaves nothing is an error that lists what exists.
Result<std::vector<Nic>> select_nics(const std::vector<Nic>& nics, std::string_view rule);

// Names of those on a NUMA node; none if that makes no difference: nothing is known, or all are on it.
std::vector<std::string> nics_near(const std::vector<Nic>& nics, std::optional<int> numa_node);

}  // namespace wia
