#include "topology/sysfs.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/parse.hpp"

namespace wia::sysfs {
namespace {

namespace fs = std::filesystem;

// The device's directory and those above it, nearest first, until `stop` says so.
template <class Stop>
void climb(const std::string& device, Stop stop) {
  std::error_code error;
  fs::path directory = fs::canonical(device, error);
  while (!error && directory.has_relative_path() && !stop(directory)) directory = directory.parent_path();
}

bool is_pci_address(const std::string& name) {
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  int length = 0;
  return std::sscanf(name.c_str(), "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &length) == 4 &&
         static_cast<size_t>(length) == name.size();
}

}  // namespace

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string line(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

std::optional<int64_t> number(const std::string& path) { return parse_integer(line(path)); }

std::optional<int> numa_node_of(const std::string& device) {
  std::optional<int> node;
  climb(device, [&](const fs::path& directory) {
    const auto told = number(directory / "numa_node");
    if (told && *told >= 0) node = static_cast<int>(*told);
    return told.has_value();
  });
  return node;
}

std::optional<int> numa_node_of_cpus(const std::vector<int>& cpus, const std::string& root) {
  std::optional<int> all;
  for (const int cpu : cpus) {
    std::optional<int> node;
    std::error_code error;
    const std::string directory = root + "/devices/system/cpu/cpu" + std::to_string(cpu);
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
      if (const std::string name = entry->path().filename(); name.starts_with("node"))
        if (const auto number = parse_integer(name.substr(4))) node = static_cast<int>(*number);
    if (!node || (all && *all != *node)) return std::nullopt;
    all = node;
  }
  return all;
}

std::string pci_address_of(const std::string& device) {
  std::string address;
  climb(device, [&](const fs::path& directory) {
    if (is_pci_address(directory.filename())) address = directory.filename();
    return !address.empty();
  });
  return address;
}

}  // namespace wia::sysfs
