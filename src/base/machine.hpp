// Facts about this machine that the standard library does not know.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wia {

// Logical CPUs that this process may run on.
std::vector<int> affinity();
// So many it may use at the same time by its cgroup; very large where there is no quota.
double quota_cpus();
// So many it may use at the same time by both. At least a part of one.
double allowed_cpus();

// The value of the first of these names in /proc/cpuinfo ("model name : ..."); empty: there is none.
std::string cpuinfo(std::initializer_list<std::string_view> names);
std::string cpu_model();
std::string host_name();  // empty: the system does not say

// Bytes of the largest cache; 32 MiB where the system does not say.
size_t last_level_cache_bytes();

// What the system does not tell is nothing.
struct Memory {
  std::optional<uint64_t> total, available, cgroup_limit;  // bytes; available: also within the cgroup's limit
};
Memory memory();

}  // namespace wia
