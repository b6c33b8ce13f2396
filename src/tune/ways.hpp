// Simple ways to choose, against which learning has to hold its own. Pure; thread safe.
#pragma once
#include "tune/score.hpp"

namespace wia {

// Always this class; where it was not measured the first that was.
Ranking always(size_t chosen, size_t classes);
// The class with the least geometric mean of regret over these cells of the table.
size_t best_fixed(const CellTable& table, const std::vector<size_t>& cells);
// As in the nearest of these cells: by the logarithms of the known quantities, each over its range.
Ranking nearest(const CellTable& table, const std::vector<size_t>& cells);
// What the standard's table (WIA-AI-011, 6.4) prescribes, one node counted as a ring. The class of the name
// of its algorithm; where the table of timings has none, `usual`, which for a vendor's library is a flat
// ring.
Ranking by_standard(const CellTable& table, size_t usual);
// The class of the least time that a cost model fitted to these cells predicts.
Ranking cheapest(const CellTable& table, const std::vector<size_t>& cells);

}  // namespace wia
