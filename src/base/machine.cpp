#include "base/machine.hpp"

#include <unistd.h>

#include <initializer_list>

namespace wia {

size_t last_level_cache_bytes() {
  static const size_t bytes = [] {
    for (const int level : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
      if (const long size = sysconf(level); size > 0) return static_cast<size_t>(size);
    return size_t{32} << 20;
  }();
  return bytes;
}

}  // namespace wia
