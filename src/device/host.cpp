#include "device/host.hpp"

#include <hwloc.h>

namespace wia {
namespace {

hwloc_topology_t topology() {
  static hwloc_topology_t loaded = [] {
    hwloc_topology_t made = nullptr;
    if (hwloc_topology_init(&made) != 0 || hwloc_topology_load(made) != 0) made = nullptr;
    return made;
  }();
  return loaded;
}

}  // namespace

int host_device_count() {
  const int nodes = topology() ? hwloc_get_nbobjs_by_type(topology(), HWLOC_OBJ_NUMANODE) : 1;
  return nodes > 0 ? nodes : 1;
}

Status check_host_device(int device) {
  if (device >= 0 && device < host_device_count()) return {};
  return Status::error(Code::invalid_argument, "device is {}; legal are 0 to {}", device,
                       host_device_count() - 1);
}

void bind_to_host_device(void* pointer, size_t bytes, int device) {
  if (host_device_count() == 1) return;
  const hwloc_obj_t node =
      hwloc_get_obj_by_type(topology(), HWLOC_OBJ_NUMANODE, static_cast<unsigned>(device));
  if (node)
    hwloc_set_area_membind(topology(), pointer, bytes, node->nodeset, HWLOC_MEMBIND_BIND,
                           HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_NOCPUBIND);
}

}  // namespace wia
