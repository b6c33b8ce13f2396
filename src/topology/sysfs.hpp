// Reads facts from sysfs, or from a tree like it. What is not there, or makes no sense, is nothing.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wia::sysfs {

bool exists(const std::string& path);
std::optional<int64_t> number(const std::string& path);  // the whole of a file
std::string line(const std::string& path);               // the first of a file
// Of a device's directory (a link is followed): the nearest above it that has one.
std::optional<int> numa_node_of(const std::string& device);
// The one that all these CPUs are of.
std::optional<int> numa_node_of_cpus(const std::vector<int>& cpus, const std::string& root = "/sys");
std::string pci_address_of(const std::string& device);

}  // namespace wia::sysfs
