// How a call is carried out: an algorithm, how long its slices are, how many NICs carry them. What is chosen
// for a call, and what a tuning file tells apart. Values; thread safe.
#pragma once
#include <string>
#include <string_view>

#include "algorithms/algorithm.hpp"

namespace wia {

struct Tactic {
  const Algorithm* algorithm = nullptr;
  size_t slice_bytes = 0;  // of a chunk, at most; 0: the default
  int nics = 0;            // that a pair of ranks uses, at most; 0: all
  bool operator==(const Tactic&) const = default;
};

// "ring", "hierarchical:direct:ring/slice=64K/nics=1". Errors name what is wrong in it.
Result<Tactic> parse_tactic(Collective collective, std::string_view name);
std::string name_of(const Tactic& tactic);

}  // namespace wia
