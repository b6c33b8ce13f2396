// The host as devices: its NUMA nodes. Accelerators come beside it behind the same few functions.
// Thread safe.
#pragma once
#include <cstddef>

#include "base/status.hpp"

namespace wia {

// NUMA nodes of this host, at least 1; known from hwloc.
int host_device_count();
Status check_host_device(int device);
// Asks the system to keep these pages on the device's NUMA node. Best effort: without permission they lie
// where they are touched first.
void bind_to_host_device(void* pointer, size_t bytes, int device);

}  // namespace wia
