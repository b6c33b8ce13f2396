// How the ranks of a group are spread over the machine, level by level, and columns: teams with one rank of
// each unit.
//
// Level 0 connects ranks inside the innermost units (Shape::units), level 1 connects those inside the next
// larger ones, and so on; the outermost level connects all. A level divides the data that comes from inside
// into as many columns as its largest unit has members. Every column has one server in each unit. In a unit
// with fewer members a member serves several columns, always consecutive ones. So every rank works, units may
// differ in size, and the traffic of a level is spread over all ranks.
//
// What a rank works on at level l is named by a path: the columns c_0, c_1 ... of the levels inside. The team
// of a path at a level has one server in each unit inside, so ranks of one team work on the same data.
#pragma once
#include <array>
#include <span>

#include "algorithms/phase.hpp"

namespace wia {

class Levels {
 public:
  explicit Levels(const Shape& shape);

  // At least 1. Levels whose units hold the whole group are left out.
  int count() const { return static_cast<int>(levels_.size()); }
  int top() const { return count() - 1; }
  // Columns that a level divides into.
  int width(int level) const { return levels_[level].width; }
  // Whether a level has nothing to do: no unit has two members, and another level is there.
  bool skipped(int level) const { return width(level) == 1 && level != top(); }

  // A column of each level, from the innermost; entries of later levels are 0.
  using Path = std::array<int, kMostLevels>;
  // Where a rank's own block belongs: the first columns that the rank and its units serve.
  Path path_of(int rank) const;
  // All paths of the first so many levels, ordered, the innermost column first.
  std::vector<Path> all_paths(int levels) const;
  // Where a path of the first so many levels stands among them.
  uint32_t number_of(const Path& path, int levels) const;
  // Of the first so many levels, those that this rank serves.
  std::vector<Path> my_paths(int levels) const;

  // Units of a level are numbered; ranks are the units of level -1. The top's only unit is 0.
  int unit_of(int rank, int level) const;
  int my_unit(int level) const { return unit_of(rank_, level); }
  // The ranks of a unit, members of each inner unit together.
  std::vector<int> ranks_of(int level, int unit) const;
  // Rank that serves a path, whose first level + 1 columns count, in a unit.
  int server(int level, int unit, const Path& path) const;
  // The units that `level` connects in this rank's unit.
  std::span<const int> members(int level) const { return my_unit_at(level).members; }
  // Index, among the units that `level` connects in `rank`'s unit, of the one that has the rank.
  int member_of(int rank, int level) const;
  int member_serving(int level, int column) const;  // in this rank's unit

  // The servers of a path in this rank's unit; `me` is the inner unit of this rank.
  Team team(int level, const Path& path) const;
  // Chunks are given by their paths. Of those that continue `path`, each member's: what its columns have.
  // `order`: the order of chunks in a block; empty: as they are numbered.
  Blocks blocks(int level, const Path& path, std::span<const Path> chunks,
                std::span<const uint32_t> order = {}) const;

 private:
  struct Unit {
    std::vector<int> members;  // units of the level inside
    int parent = 0;            // unit of the level outside
    int index = 0;             // in it
  };
  struct Level {
    std::vector<Unit> units;
    int width = 1;
  };
  struct Range {
    int first, count;
  };
  const Unit& my_unit_at(int level) const { return levels_[level].units[my_unit(level)]; }
  int index_of(int unit, int level) const;  // of a unit inside, in the unit of `level` around it
  int parent_of(int unit, int level) const;
  Range served(int level, int inner_unit) const;

  int rank_;
  std::vector<std::array<int, 2>> rank_place_;  // unit of level 0, index in it
  std::vector<Level> levels_;
};

bool continues(const Levels::Path& path, const Levels::Path& begin, int levels);

}  // namespace wia
