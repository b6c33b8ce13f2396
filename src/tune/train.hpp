// Learns which class is fastest from measured cells.
//
// Deterministic: the same cells and options give the same model. Thread safe.
#pragma once
#include <cstdint>
#include <vector>

#include "dispatch/learned.hpp"
#include "tune/cells.hpp"
#include "tune/score.hpp"

namespace wia {

struct TrainOptions {
  uint64_t seed = 1;
  int folds = 5;
  int repeats = 4;  // of the cross-validation, each with folds of its own
};

struct Trained {
  LearnedModel model;
  Score validation;  // on the folds that were left out
};

// From these cells of the table alone, at least one.
Trained train(const CellTable& table, const std::vector<size_t>& cells, const TrainOptions& options);

}  // namespace wia
