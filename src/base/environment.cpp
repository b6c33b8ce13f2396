#include "base/environment.hpp"

#include <cstdlib>

namespace wia {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value) return std::nullopt;
  return value;
}

}  // namespace wia
