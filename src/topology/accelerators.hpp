// Accelerators of this host and the links between them, as their makers' software shows them. Where it is not
// there, or knows none, there are none. Thread safe.
#pragma once
#include <string>
#include <vector>

#include "topology/topology.hpp"

namespace wia {

struct Accelerators {
  std::vector<Device> devices;
  std::vector<Link> links;  // one for each ordered pair, ordered by source, then target; not measured
};
// By NVIDIA's management library (NVML), which is looked for at run time.
Accelerators discover_nvidia_accelerators();
// By what the kernel's driver shows in sysfs.
Accelerators discover_amd_accelerators(const std::string& sysfs);

// "00000000:3B:00.0", as NVML writes it, as sysfs does: "0000:3b:00.0".
std::string pci_as_in_sysfs(const std::string& bus_id);

}  // namespace wia
