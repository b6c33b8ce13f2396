// How good choices are. Pure; thread safe.
//
// Regret is the time of the choice / the time of the best in that cell, both medians over the runs: 1 is
// perfect. A class that was not measured in a cell cannot be judged there, so who ranks classes is judged by
// the first that was.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tune/cells.hpp"

namespace wia {

struct Score {
  size_t cells = 0;
  double accuracy = 0;         // share of the cells where the best was chosen
  double accuracy_within = 0;  // where the regret is at most 1.05
  double regret = 1;           // geometric mean
  double worst_regret = 1;
};

// Classes, the one to be chosen first.
using Ranking = std::function<std::vector<size_t>(const Cell& cell)>;

// The first of the ranking that was measured in the cell.
size_t choice_in(const Cell& cell, const std::vector<size_t>& ranking);

// Collects cells one by one.
class Scorer {
 public:
  void add(double regret);
  Score score() const;

 private:
  Score sum_;
  double log_sum_ = 0;
};

Score score_of(const CellTable& table, const std::vector<size_t>& cells, const Ranking& ranking);

}  // namespace wia
