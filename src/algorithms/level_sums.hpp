// The way outwards of the hierarchical algorithms that reduce: sums inside the units of a level.
#pragma once
#include <optional>

#include "algorithms/level_phases.hpp"
#include "algorithms/levels.hpp"

namespace wia {

// What this rank works on at a level: chunks whose paths begin so, and where their sums are by now.
struct Part {
  Levels::Path path;
  Place sums;
};

// What a level does begins when what came before in the lanes of a level inside is there.
void start_after(Builder& builder, Lanes lanes, Lanes inside);

// Adds up inside the units of one level. Gives the parts of the next. `chunks` are the paths of all; the sums
// go to `result`, or to new scratch.
std::vector<Part> reduce_scatter_on(Builder& builder, const Levels& levels, int level, Lanes lanes,
                                    const LevelPhases& phases, Buffer lengths,
                                    std::span<const Levels::Path> chunks, std::span<const Part> parts,
                                    std::optional<Place> result);

}  // namespace wia
