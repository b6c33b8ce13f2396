// The levels of the machine that hierarchical algorithms have levels of their own for: from what every rank
// says of its place, and WIA_LEVELS.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace wia {

struct RankPlace {
  int node = 0;
  int numa = -1;            // the NUMA domain that it is bound to; -1: to none alone
  std::string switch_name;  // that its node hangs on; empty: not known
};

// By level, from the innermost: the unit of each rank, as Shape::units has them. `levels`:
// "numa,node,switch", with numbers for units of so many consecutive ranks; empty: nodes alone. A unit that
// does not lie in one of the next level is an error that names two ranks.
Result<std::vector<std::vector<int>>> units_of(std::string_view levels, const std::vector<RankPlace>& places);

// The units of some ranks, numbered anew; outer levels that hold them all in one unit are left out.
std::vector<std::vector<int>> units_among(const std::vector<std::vector<int>>& units,
                                          const std::vector<int>& ranks);

}  // namespace wia
