#include "cli/machine.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "base/machine.hpp"

namespace wia::cli {
std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::vector<std::string> vector_extensions() {
  static constexpr std::array<std::string_view, 16> kKnown = {
      "ssse3",       "sse4_1",   "avx",         "avx2",     "fma",   "f16c", "avx512f", "avx512bw",
      "avx512_bf16", "avx_vnni", "avx512_fp16", "amx_bf16", "asimd", "sve",  "sve2",    "bf16"};
  std::istringstream flags(cpuinfo({"flags", "Features", "isa"}));
  std::vector<std::string> found;
  for (std::string flag; flags >> flag;)
    if (std::find(kKnown.begin(), kKnown.end(), flag) != kKnown.end()) found.push_back(flag);
  return found;
}

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, kUnits[unit]);
}

std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? std::to_string(numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace wia::cli
