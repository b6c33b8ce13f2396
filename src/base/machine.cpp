#include "base/machine.hpp"

#include <fstream>
#include <string>

#include "base/parse.hpp"

namespace wia {

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

}  // namespace wia
