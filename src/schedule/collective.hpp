// The collectives, and the shape of a call: all that an algorithm may depend on.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace wia {

// Chunks of a rank's buffers in a schedule, for P ranks and an algorithm's own split into C chunks:
//
//                    input                    output
//   all_reduce       C                        C
//   reduce           C                        C (root only)
//   broadcast        C (root only)            C (on the root: its input, always in place)
//   all_gather       1                        P, chunk p from rank p
//   gather           1                        P (root only)
//   reduce_scatter   P, chunk p for rank p    1
//   scatter          P (root only)            1
//   all_to_all       P, chunk p for rank p    P, chunk p from rank p
//   barrier          0                        0
//
// In place: all_reduce, reduce (on the root), all_to_all: input is output. all_gather, gather (root):
// input is output chunk `rank`. reduce_scatter, scatter (root): output is input chunk `rank`.
enum class Collective : uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all,
  barrier,
};
constexpr int kNumCollectives = 9;

std::string_view name_of(Collective collective);
std::optional<Collective> parse_collective(std::string_view name);  // "all_reduce" or "allreduce"
constexpr bool has_root(Collective c) {
  return c == Collective::broadcast || c == Collective::reduce || c == Collective::gather ||
         c == Collective::scatter;
}
constexpr bool reduces(Collective c) {
  return c == Collective::all_reduce || c == Collective::reduce || c == Collective::reduce_scatter;
}

// What a level of a hierarchical algorithm runs.
enum class LevelAlgorithm : uint8_t {
  direct,
  pairwise,
  ring,
  halving_doubling,
  recursive_doubling,
  tree,
  chain,
};

constexpr int kMostLevels = 6;

// The algorithms of the levels, named from the innermost. Where a group has more levels than are named, the
// last is the outermost's, and the one before it serves all between. Where it has fewer, the outer ones are
// not used. Nothing named: direct.
struct LevelAlgorithms {
  std::array<LevelAlgorithm, kMostLevels> named{};
  uint8_t count = 0;

  constexpr LevelAlgorithm of(int level, int levels) const {
    if (count == 0) return LevelAlgorithm::direct;
    const int last = count - 1;
    if (levels <= count) return named[level];
    return named[level == levels - 1 ? last : std::max(std::min(level, last - 1), 0)];
  }
  bool operator==(const LevelAlgorithms&) const = default;
};

struct Shape {
  Collective collective = Collective::all_reduce;
  int ranks = 1;
  int rank = 0;
  int root = 0;
  bool in_place = false;
  bool even = true;  // all chunks of P-chunk buffers have the same length (false: the v-variants)
  // The machine, level by level from the innermost, as {NUMA domains, nodes, switches} or {nodes}:
  // units[l][r] is the number of the unit that rank r is in, counted from 0 in order of first appearance.
  // Each unit lies in one of the next level. At most kMostLevels - 1; empty: the ranks share one node.
  std::vector<std::vector<int>> units;
  LevelAlgorithms level_algorithms;  // of a hierarchical algorithm

  bool is_root() const { return rank == root; }
};

}  // namespace wia
