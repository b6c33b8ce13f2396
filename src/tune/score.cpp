#include "tune/score.hpp"

#include <algorithm>
#include <cmath>

namespace wia {

size_t choice_in(const Cell& cell, const std::vector<size_t>& ranking) {
  for (const size_t c : ranking)
    if (cell.measured(c)) return c;
  return cell.best();
}

void Scorer::add(double regret) {
  ++sum_.cells;
  sum_.accuracy += regret <= 1;
  sum_.accuracy_within += regret <= 1.05;
  sum_.worst_regret = std::max(sum_.worst_regret, regret);
  log_sum_ += std::log(regret);
}

Score Scorer::score() const {
  Score score = sum_;
  if (score.cells == 0) return score;
  const auto cells = static_cast<double>(score.cells);
  score.accuracy /= cells;
  score.accuracy_within /= cells;
  score.regret = std::exp(log_sum_ / cells);
  return score;
}

Score score_of(const CellTable& table, const std::vector<size_t>& cells, const Ranking& ranking) {
  Scorer scorer;
  for (const size_t i : cells) {
    const Cell& cell = table.cells[i];
    scorer.add(cell.regret(choice_in(cell, ranking(cell))));
  }
  return scorer.score();
}

}  // namespace wia
