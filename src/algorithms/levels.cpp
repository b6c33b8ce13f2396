#include "algorithms/levels.hpp"

#include <algorithm>

namespace wia {

Levels::Levels(const Shape& shape) : rank_(shape.rank), rank_place_(shape.ranks) {
  std::vector<int> inner(shape.ranks);  // by rank: its unit of the level before
  for (int rank = 0; rank < shape.ranks; ++rank) inner[rank] = rank;
  for (size_t l = 0; l <= shape.units.size(); ++l) {
    Level level;
    std::vector<int> unit(shape.ranks, 0);
    if (l < shape.units.size()) std::copy(shape.units[l].begin(), shape.units[l].end(), unit.begin());
    std::vector<char> placed(shape.ranks, 0);  // by inner unit
    for (int rank = 0; rank < shape.ranks; ++rank) {
      if (static_cast<size_t>(unit[rank]) >= level.units.size()) level.units.resize(unit[rank] + 1);
      if (placed[inner[rank]]) continue;
      placed[inner[rank]] = 1;
      auto& members = level.units[unit[rank]].members;
      const int index = static_cast<int>(members.size());
      if (l == 0) {
        rank_place_[rank] = {unit[rank], index};
      } else {
        Unit& member = levels_.back().units[inner[rank]];
        member.parent = unit[rank];
        member.index = index;
      }
      members.push_back(inner[rank]);
      level.width = std::max(level.width, index + 1);
    }
    inner = std::move(unit);
    levels_.push_back(std::move(level));
  }
  while (count() > 1 && width(top()) == 1) levels_.pop_back();
}

int Levels::index_of(int unit, int level) const {
  return level == 0 ? rank_place_[unit][1] : levels_[level - 1].units[unit].index;
}

int Levels::parent_of(int unit, int level) const {
  return level == 0 ? rank_place_[unit][0] : levels_[level - 1].units[unit].parent;
}

int Levels::unit_of(int rank, int level) const {
  int unit = rank;
  for (int l = 0; l <= level; ++l) unit = parent_of(unit, l);
  return unit;
}

std::vector<int> Levels::ranks_of(int level, int unit) const {
  if (level < 0) return {unit};
  std::vector<int> ranks;
  for (const int member : levels_[level].units[unit].members) {
    const std::vector<int> inside = ranks_of(level - 1, member);
    ranks.insert(ranks.end(), inside.begin(), inside.end());
  }
  return ranks;
}

// Member i of n serves the columns c with c * n / width == i.
Levels::Range Levels::served(int level, int inner_unit) const {
  const auto size = static_cast<int64_t>(levels_[level].units[parent_of(inner_unit, level)].members.size());
  const auto first_of = [&](int64_t index) {
    return static_cast<int>((index * width(level) + size - 1) / size);
  };
  const int index = index_of(inner_unit, level), first = first_of(index);
  return {first, first_of(index + 1) - first};
}

int Levels::server(int level, int unit, const Path& path) const {
  for (; level >= 0; --level) {
    const auto& members = levels_[level].units[unit].members;
    unit = members[int64_t{path[level]} * static_cast<int64_t>(members.size()) / width(level)];
  }
  return unit;
}

int Levels::member_of(int rank, int level) const { return index_of(unit_of(rank, level - 1), level); }

int Levels::member_serving(int level, int column) const {
  const auto size = static_cast<int64_t>(members(level).size());
  return static_cast<int>(column * size / width(level));
}

Levels::Path Levels::path_of(int rank) const {
  Path path{};
  int unit = rank;
  for (int level = 0; level < count(); ++level) {
    path[level] = served(level, unit).first;
    unit = parent_of(unit, level);
  }
  return path;
}

std::vector<Levels::Path> Levels::all_paths(int levels) const {
  std::vector<Path> paths = {Path{}};
  for (int level = 0; level < levels; ++level) {
    std::vector<Path> longer;
    for (Path path : paths) {
      for (path[level] = 0; path[level] < width(level); ++path[level]) longer.push_back(path);
    }
    paths = std::move(longer);
  }
  return paths;
}

uint32_t Levels::number_of(const Path& path, int levels) const {
  int number = 0;
  for (int level = 0; level < levels; ++level) number = number * width(level) + path[level];
  return static_cast<uint32_t>(number);
}

std::vector<Levels::Path> Levels::my_paths(int levels) const {
  std::vector<Path> paths = all_paths(levels);
  std::erase_if(paths,
                [&](const Path& path) { return server(levels - 1, my_unit(levels - 1), path) != rank_; });
  return paths;
}

Team Levels::team(int level, const Path& path) const {
  Team team;
  for (const int member : members(level)) team.ranks.push_back(server(level - 1, member, path));
  team.me = member_of(rank_, level);
  return team;
}

Blocks Levels::blocks(int level, const Path& path, std::span<const Path> chunks,
                      std::span<const uint32_t> order) const {
  std::vector<std::vector<uint32_t>> lists(members(level).size());
  const size_t number = order.empty() ? chunks.size() : order.size();
  for (size_t i = 0; i < number; ++i) {
    const uint32_t chunk = order.empty() ? static_cast<uint32_t>(i) : order[i];
    if (continues(chunks[chunk], path, level))
      lists[member_serving(level, chunks[chunk][level])].push_back(chunk);
  }
  return Blocks(lists);
}

bool continues(const Levels::Path& path, const Levels::Path& begin, int levels) {
  return std::equal(path.begin(), path.begin() + levels, begin.begin());
}

}  // namespace wia
