#include "base/machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/parse.hpp"

namespace wia {
namespace {

std::optional<uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const auto value = parse_integer(line);
  if (!value || *value < 0) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

}  // namespace

std::vector<int> affinity() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) cpus.push_back(static_cast<int>(cpu));
  return cpus;
}

double quota_cpus() {
  // cgroup v2: "max 100000" or "20000 100000"; v1: two files.
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) return std::stod(quota) / period;
  std::ifstream groups("/proc/self/cgroup");
  std::string line, path;
  while (std::getline(groups, line)) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find(",cpu,") != std::string::npos) path = line.substr(second + 1);
  }
  for (const std::string& base :
       {std::string("/sys/fs/cgroup/cpu"), std::string("/sys/fs/cgroup/cpu,cpuacct")}) {
    double limit = -1, length = 0;
    std::ifstream(base + path + "/cpu.cfs_quota_us") >> limit;
    std::ifstream(base + path + "/cpu.cfs_period_us") >> length;
    if (limit > 0 && length > 0) return limit / length;
  }
  return 1e9;
}

double allowed_cpus() {
  return std::min(std::max(1.0, static_cast<double>(affinity().size())), quota_cpus());
}

// From sysfs: sysconf multiplies an AMD processor's cache by the cores it thinks the package has.
size_t last_level_cache_bytes() {
  static const size_t bytes = [] {
    size_t largest = 0;
    for (int index = 0; index < 8; ++index) {
      std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
      std::string text;
      if (!(file >> text)) continue;
      if (const auto size = parse_size(text); size && *size > largest) largest = *size;
    }
    return largest ? largest : size_t{32} << 20;
  }();
  return bytes;
}

Memory memory() {
  Memory found;
  std::ifstream meminfo("/proc/meminfo");
  std::string name, unit;
  uint64_t kib = 0;
  while (meminfo >> name >> kib && std::getline(meminfo, unit)) {
    if (name == "MemTotal:") found.total = kib * 1024;
    if (name == "MemAvailable:") found.available = kib * 1024;
  }
  struct Files {
    const char *limit, *used;
  };
  static constexpr Files kGroups[] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
  for (const Files& files : kGroups) {
    const auto limit = number_in(files.limit), used = number_in(files.used);
    if (!limit || !used || *limit >= found.total.value_or(UINT64_MAX)) continue;  // no limit at all
    found.cgroup_limit = limit;
    const uint64_t left = *limit > *used ? *limit - *used : 0;
    found.available = std::min(found.available.value_or(left), left);
  }
  return found;
}

std::string cpuinfo(std::initializer_list<std::string_view> names) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    const std::string name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (colon == std::string::npos || std::find(names.begin(), names.end(), name) == names.end()) continue;
    return line.substr(std::min(line.find_first_not_of(' ', colon + 1), line.size()));
  }
  return {};
}

std::string cpu_model() { return cpuinfo({"model name", "CPU part", "cpu"}); }

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace wia
