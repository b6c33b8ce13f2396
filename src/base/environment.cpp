#include "base/environment.hpp"

#include <unistd.h>

#include <cstdlib>

namespace wia {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value) return std::nullopt;
  return value;
}

std::vector<std::string> environment_entries() {
  std::vector<std::string> entries;
  for (char** entry = ::environ; entry && *entry; ++entry) entries.emplace_back(*entry);
  return entries;
}

}  // namespace wia
