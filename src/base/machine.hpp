// Facts about this machine that the standard library does not know.
#pragma once
#include <cstddef>

namespace wia {

// Bytes of the largest cache; 32 MiB where the system does not say.
size_t last_level_cache_bytes();

}  // namespace wia
