// What the system tells about this host: hwloc, sysfs, and what accelerators' makers offer. Nothing is fatal:
// what is not told stays unknown. Thread safe.
#pragma once
#include <string>

#include "topology/topology.hpp"

namespace wia {

// Where discovery looks; tests look elsewhere.
struct DiscoverySources {
  std::string sysfs = "/sys";
  std::string hwloc;  // a synthetic description as hwloc reads it ("numa:2 core:2"); empty: this machine
};

// `nic_rule` as WIA_NIC; one that chooses nothing leaves used_nics empty.
Host discover_host(const std::string& nic_rule, const DiscoverySources& sources = {});
// This process as an endpoint on the host.
LinkEnd discover_endpoint(const Host& host);
// The host's devices and what is said of the links between them.
Topology discover_devices(const std::string& nic_rule, const DiscoverySources& sources = {});

}  // namespace wia
