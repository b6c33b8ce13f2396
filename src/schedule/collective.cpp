#include "schedule/collective.hpp"

#include <algorithm>
#include <string>

namespace wia {
namespace {

constexpr std::string_view kNames[kNumCollectives] = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
    "gather",     "scatter",    "all_to_all",     "barrier",
};

std::string without_underscores(std::string_view name) {
  std::string plain(name);
  std::erase(plain, '_');
  return plain;
}

}  // namespace

std::string_view name_of(Collective collective) { return kNames[static_cast<int>(collective)]; }

std::optional<Collective> parse_collective(std::string_view name) {
  for (int i = 0; i < kNumCollectives; ++i) {
    if (name == kNames[i] || name == without_underscores(kNames[i])) return static_cast<Collective>(i);
  }
  return std::nullopt;
}

}  // namespace wia
