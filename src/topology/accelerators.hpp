// Accelerators that NVIDIA's management library (NVML) shows. It is looked for at run time; where it is not
// there, or knows none, there are none. Thread safe.
#pragma once
#include <optional>
#include <vector>

#include "topology/topology.hpp"

namespace wia {

struct Accelerators {
  std::vector<Device> devices;
  std::vector<Link> links;  // one for each ordered pair, ordered by source, then target; not measured
};
Accelerators discover_accelerators();

// "00000000:3B:00.0", as NVML writes it, as sysfs does: "0000:3b:00.0".
std::string pci_as_in_sysfs(const std::string& bus_id);

}  // namespace wia
