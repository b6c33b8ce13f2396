// Timings as cells: what one call took by each choice.
//
// A cell is a call of a collective on a machine: everything but the choice and the run is the same. The time
// of a choice in a cell is the median over all its rows there: repeated runs disagree, and a run with an
// accident must not decide. Pure; thread safe.
#pragma once
#include <string>
#include <vector>

#include "tune/timings.hpp"

namespace wia {

struct Cell {
  CallShape call;
  std::vector<double> seconds;  // by class; NaN: not measured

  bool measured(size_t c) const { return seconds[c] == seconds[c]; }
  size_t best() const;            // the class of the least time; of equals the first
  double regret(size_t c) const;  // its time / the least; NaN: not measured
};

// Of one machine and collective.
struct CellTable {
  std::string machine;
  Collective collective = Collective::all_reduce;
  std::vector<std::string> classes;  // sorted
  std::vector<Cell> cells;           // sorted by call; in each at least two classes are measured
  size_t rows = 0, run_sets = 0;
  size_t single_cells = 0;  // left out, since one class alone was measured there

  // The position of a class; none: classes.size().
  size_t class_of(const std::string& name) const;
};

// Sorted by machine and collective.
std::vector<CellTable> cells_of(const TimingTable& timings);

}  // namespace wia
