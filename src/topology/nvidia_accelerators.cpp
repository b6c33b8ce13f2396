#include "topology/accelerators.hpp"

#include <dlfcn.h>

#include <optional>

#include "base/parse.hpp"
#include "topology/sysfs.hpp"

namespace wia {
namespace {

// The part of nvml.h (version 11 and later) that is used here.
using NvmlDevice = struct NvmlDeviceTag*;
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlP2pOk = 0;
enum NvmlP2pCapability { kNvmlRead = 0, kNvmlNvlink = 2 };
constexpr unsigned kNvmlMostLinks = 18;
constexpr unsigned kNvmlLinkSpeedOfEach = 90;  // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, in MB/s

struct NvmlPciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct NvmlFieldValue {
  unsigned field, scope;
  long long timestamp, latency_us;
  unsigned value_type;
  int result;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long as_unsigned_long;
    unsigned long long as_unsigned_long_long;
  } value;
};

struct Nvml {
  int (*init)();
  int (*shutdown)();
  int (*count)(unsigned*);
  int (*handle)(unsigned, NvmlDevice*);
  int (*name)(NvmlDevice, char*, unsigned);
  int (*pci)(NvmlDevice, NvmlPciInfo*);
  int (*p2p)(NvmlDevice, NvmlDevice, int capability, int* status);
  int (*link_state)(NvmlDevice, unsigned link, int* active);
  int (*fields)(NvmlDevice, int count, NvmlFieldValue*);
  int (*pcie_generation)(NvmlDevice, unsigned*);
  int (*pcie_width)(NvmlDevice, unsigned*);
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// Loaded once and kept: unloading it is not worth the risk.
const Nvml* nvml() {
  static const std::optional<Nvml> loaded = []() -> std::optional<Nvml> {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    Nvml n{};
    if (!library || !find(library, "nvmlInit_v2", n.init) || !find(library, "nvmlShutdown", n.shutdown) ||
        !find(library, "nvmlDeviceGetCount_v2", n.count) ||
        !find(library, "nvmlDeviceGetHandleByIndex_v2", n.handle) ||
        !find(library, "nvmlDeviceGetName", n.name) || !find(library, "nvmlDeviceGetPciInfo_v3", n.pci) ||
        !find(library, "nvmlDeviceGetP2PStatus", n.p2p) ||
        !find(library, "nvmlDeviceGetNvLinkState", n.link_state) ||
        !find(library, "nvmlDeviceGetFieldValues", n.fields) ||
        !find(library, "nvmlDeviceGetMaxPcieLinkGeneration", n.pcie_generation) ||
        !find(library, "nvmlDeviceGetMaxPcieLinkWidth", n.pcie_width))
      return std::nullopt;
    return n;
  }();
  return loaded ? &*loaded : nullptr;
}

Device describe(const Nvml& n, NvmlDevice handle) {
  Device device;
  device.accelerator = true;
  char name[96] = "";
  device.name = n.name(handle, name, sizeof name) == kNvmlSuccess ? name : "accelerator";
  NvmlPciInfo pci{};
  if (n.pci(handle, &pci) != kNvmlSuccess) return device;
  device.pci = pci_as_in_sysfs(pci.bus_id);
  device.numa_node = sysfs::numa_node_of("/sys/bus/pci/devices/" + device.pci);
  return device;
}

// GB/s in one direction of all active links together.
std::optional<Figure> nvlink_rate(const Nvml& n, NvmlDevice handle) {
  int links = 0;
  for (unsigned link = 0; link < kNvmlMostLinks; ++link) {
    int active = 0;
    if (n.link_state(handle, link, &active) == kNvmlSuccess && active) ++links;
  }
  NvmlFieldValue speed{};
  speed.field = kNvmlLinkSpeedOfEach;
  if (links == 0 || n.fields(handle, 1, &speed) != kNvmlSuccess || speed.result != kNvmlSuccess ||
      speed.value.as_unsigned == 0)
    return std::nullopt;
  return Figure::reported(links * static_cast<double>(speed.value.as_unsigned) / 1000,
                          "NVML: active NVLinks times their speed");
}

std::optional<Figure> pcie_rate(const Nvml& n, NvmlDevice handle) {
  // GB/s of one lane, by generation.
  static constexpr double kLane[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
  unsigned generation = 0, width = 0;
  if (n.pcie_generation(handle, &generation) != kNvmlSuccess ||
      n.pcie_width(handle, &width) != kNvmlSuccess || generation == 0 || generation >= std::size(kLane) ||
      width == 0)
    return std::nullopt;
  return Figure::reported(kLane[generation] * width, "NVML: largest PCIe generation and width");
}

Link link_between(const Nvml& n, const std::vector<NvmlDevice>& handles, int source, int target) {
  Link link;
  link.source = source, link.target = target;
  link.latency = link.bandwidth = Figure::unknown("not measured");
  const NvmlDevice from = handles[static_cast<size_t>(source)], to = handles[static_cast<size_t>(target)];
  if (source == target) {
    link.peer_access = true;
    return link;
  }
  const auto able = [&](NvmlP2pCapability capability) -> std::optional<bool> {
    int status = 0;
    if (n.p2p(from, to, capability, &status) != kNvmlSuccess) return std::nullopt;
    return status == kNvmlP2pOk;
  };
  link.peer_access = able(kNvmlRead);
  link.type = able(kNvmlNvlink).value_or(false) ? LinkType::nvlink : LinkType::pcie;
  const auto rate = link.type == LinkType::nvlink ? nvlink_rate : pcie_rate;
  const auto one = rate(n, from), other = rate(n, to);
  if (one && other) link.rated = link.bandwidth = *one->value <= *other->value ? *one : *other;
  return link;
}

}  // namespace

std::string pci_as_in_sysfs(const std::string& bus_id) {
  const std::string text = lower_case(bus_id);
  return text.size() > 12 ? text.substr(text.size() - 12) : text;
}

Accelerators discover_nvidia_accelerators() {
  Accelerators found;
  const Nvml* n = nvml();
  unsigned count = 0;
  if (!n || n->init() != kNvmlSuccess) return found;
  std::vector<NvmlDevice> handles;
  if (n->count(&count) == kNvmlSuccess)
    for (unsigned i = 0; i < count; ++i)
      if (NvmlDevice handle = nullptr; n->handle(i, &handle) == kNvmlSuccess) handles.push_back(handle);
  for (const NvmlDevice handle : handles) found.devices.push_back(describe(*n, handle));
  const int devices = static_cast<int>(handles.size());
  for (int source = 0; source < devices; ++source)
    for (int target = 0; target < devices; ++target)
      found.links.push_back(link_between(*n, handles, source, target));
  n->shutdown();
  return found;
}

}  // namespace wia
