#include "communicator/units.hpp"

#include <map>

#include "base/parse.hpp"
#include "schedule/collective.hpp"

namespace wia {
namespace {

// Numbers in order of first appearance.
template <class KeyOf>
std::vector<int> numbered(size_t count, KeyOf&& key_of) {
  std::map<decltype(key_of(size_t{0})), int> numbers;
  std::vector<int> units;
  for (size_t i = 0; i < count; ++i)
    units.push_back(numbers.emplace(key_of(i), static_cast<int>(numbers.size())).first->second);
  return units;
}

Result<std::vector<int>> level_of(std::string_view name, const std::vector<RankPlace>& places) {
  if (name == "node") return numbered(places.size(), [&](size_t rank) { return places[rank].node; });
  if (name == "numa")
    return numbered(places.size(),
                    [&](size_t rank) { return std::pair(places[rank].node, places[rank].numa); });
  if (name == "switch") return numbered(places.size(), [&](size_t rank) { return places[rank].switch_name; });
  const auto ranks = parse_integer(name);
  if (!ranks || *ranks < 1)
    return Status::error(Code::invalid_argument,
                         "WIA_LEVELS holds \"{}\"; there are: numa, node, switch, a number of ranks", name);
  return numbered(places.size(), [&](size_t rank) { return rank / static_cast<size_t>(*ranks); });
}

}  // namespace

Result<std::vector<std::vector<int>>> units_of(std::string_view levels,
                                               const std::vector<RankPlace>& places) {
  std::vector<std::vector<int>> units;
  std::vector<std::string_view> names;
  for (bool last = levels.empty(); !last;) {
    const size_t end = std::min(levels.find(','), levels.size());
    last = end == levels.size();
    names.push_back(levels.substr(0, end));
    levels.remove_prefix(last ? end : end + 1);
  }
  if (names.empty()) names = {"node"};
  if (std::find(names.begin(), names.end(), "node") == names.end())
    return Status(Code::invalid_argument, "WIA_LEVELS does not say where among its levels \"node\" is");
  if (names.size() >= static_cast<size_t>(kMostLevels))
    return Status::error(Code::invalid_argument, "WIA_LEVELS has {} levels; at most {} are possible",
                         names.size(), kMostLevels - 1);
  for (const std::string_view name : names) {
    auto level = level_of(name, places);
    if (!level) return level.take_status();
    std::map<int, size_t> first;  // by unit of the level before: its first rank
    for (size_t rank = 0; !units.empty() && rank < places.size(); ++rank) {
      const size_t other = first.emplace(units.back()[rank], rank).first->second;
      if ((*level)[other] != (*level)[rank])
        return Status::error(
            Code::invalid_argument,
            "WIA_LEVELS: ranks {} and {} share a unit of level {} but none of level {}, which "
            "should be around it",
            other, rank, names[units.size() - 1], name);
    }
    units.push_back(std::move(*level));
  }
  return units;
}

std::vector<std::vector<int>> units_among(const std::vector<std::vector<int>>& units,
                                          const std::vector<int>& ranks) {
  std::vector<std::vector<int>> some;
  for (const std::vector<int>& level : units)
    some.push_back(numbered(ranks.size(), [&](size_t i) { return level[static_cast<size_t>(ranks[i])]; }));
  const auto whole = [](const std::vector<int>& level) {
    return std::all_of(level.begin(), level.end(), [](int unit) { return unit == 0; });
  };
  while (!some.empty() && whole(some.back())) some.pop_back();
  return some;
}

}  // namespace wia
