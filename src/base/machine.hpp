// Facts about this machine that the standard library does not know.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace wia {

// Logical CPUs that this process may run on.
std::vector<int> affinity();
// So many it may use at the same time by its cgroup; very large where there is no quota.
double quota_cpus();
// So many it may use at the same time by both. At least a part of one.
double allowed_cpus();

std::string host_name();  // empty: the system does not say

// Bytes of the largest cache; 32 MiB where the system does not say.
size_t last_level_cache_bytes();

}  // namespace wia
