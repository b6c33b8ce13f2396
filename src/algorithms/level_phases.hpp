// What the levels of a hierarchical algorithm can run: the phases of each, and the names by which users
// choose them.
#pragma once
#include <string_view>

#include "algorithms/phases.hpp"
#include "base/status.hpp"

namespace wia {

struct LevelPhases {
  LevelAlgorithm algorithm;
  const char* name;
  // Null: this algorithm has no such phases. Levels inside run the reduce_scatter and all_gather of an
  // exchange; the outermost one those, or a phase of its own.
  const Composition* exchange;
  void (*broadcast)(Flow& flow, int root, Run run, Place from, Place to);
  void (*reduce)(Flow& flow, int root, uint32_t chunk, Place own, Place result);
};

// The phases of a level of `levels`.
const LevelPhases& phases_at(const Shape& shape, int level, int levels);

// The lanes in which a level works on its way outwards and inwards: streams of their own if its phases may
// have them. A rank with several paths sends the same peer several messages, so it has one stream.
struct LevelLanes {
  Lanes outward, inward;
};
LevelLanes lanes_at(int level, int levels, const LevelPhases& phases, int members, size_t paths);

// "direct:ring": one name a level, from the innermost. The error lists what the collective can have where.
Result<LevelAlgorithms> parse_levels(Collective collective, std::string_view names);

}  // namespace wia
