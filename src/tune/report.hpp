// How well what is learned chooses where it has not seen, beside simpler ways to choose.
//
// Deterministic. Thread safe. Of every split a fifth of the cells, stratified by the best class, is held out:
// all ways are given the other cells alone, and are scored on those.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/score.hpp"
#include "tune/train.hpp"

namespace wia {

struct ReportOptions {
  int splits = 20;
  uint64_t seed = 1;
  std::string default_class = "vendor";  // what is used where nobody chooses
  TrainOptions train;
  std::function<void(int done, int splits)> progress;  // may be empty
};

// A way to choose.
struct WayReport {
  std::string name;
  std::vector<Score> splits;
  std::optional<Score> extrapolation;
};

struct TableReport {
  size_t cells = 0, held_out = 0;  // held_out: of the first split
  double extrapolated_ranks = 0;   // trained below so many ranks, tested on them; 0: not done
  size_t extrapolated_cells = 0;
  std::vector<WayReport> ways;  // the learned one first
};

TableReport report_on(const CellTable& table, const ReportOptions& options);

// Over the splits.
struct Spread {
  double mean = 0, deviation = 0, least = 0, most = 0;
};
Spread spread_of(const std::vector<Score>& scores, double Score::*figure);
double geometric_mean(const std::vector<Score>& scores, double Score::*figure);

}  // namespace wia
