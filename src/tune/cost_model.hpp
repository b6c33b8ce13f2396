// What each class costs, by a model of latency, bandwidth and steps that is fitted to measured cells.
//
// The time of a class is a sum of terms that a call has, each times a cost that is not negative: a start, the
// steps of a ring, the steps of halving between nodes, the bytes within a node, the bytes between nodes. No
// class is known by its name. Pure; thread safe.
#pragma once
#include <array>
#include <vector>

#include "tune/cells.hpp"

namespace wia {

constexpr size_t kCostTerms = 5;
using CostTerms = std::array<double, kCostTerms>;

struct CostModel {
  std::vector<CostTerms> costs;  // by class: seconds a unit of each term

  double seconds(const CallShape& call, size_t c) const;
};

// Of these cells of the table alone. The error is relative, its absolute value counts: a run with an accident
// does not bend the fit.
CostModel fit_costs(const CellTable& table, const std::vector<size_t>& cells);

}  // namespace wia
