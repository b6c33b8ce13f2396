#include "tune/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wia {
namespace {

// Unknown nodes: every rank is one.
CostTerms terms_of(const CallShape& call) {
  const double nodes = std::isnan(nodes_of(call)) ? call.ranks : nodes_of(call);
  const double across = call.bytes * (nodes - 1) / nodes;
  const double within = nodes > 1 ? 0 : call.bytes * (call.ranks - 1) / call.ranks;
  return {1, call.ranks - 1, std::log2(nodes), within, across};
}

double dot(const CostTerms& a, const CostTerms& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Least squares without negative costs, one cost after the other: the sum is convex, so this ends at its
// least. `squares` and `products`: of the terms with each other and with the wanted sums.
CostTerms least_squares(const std::array<CostTerms, kCostTerms>& squares, const CostTerms& products) {
  CostTerms costs = {};
  for (int round = 0; round < 100; ++round)
    for (size_t t = 0; t < kCostTerms; ++t)
      if (squares[t][t] > 0)
        costs[t] = std::max(0.0, costs[t] + (products[t] - dot(squares[t], costs)) / squares[t][t]);
  return costs;
}

struct Sample {
  CostTerms terms;  // over the measured time: the costs are to make their sum 1
  double weight;
};

CostTerms fit(std::vector<Sample> samples) {
  constexpr int kRounds = 20;
  constexpr double kLeastError = 0.05;  // what is nearer counts as being that far
  CostTerms costs = {};
  for (int round = 0; round < kRounds; ++round) {
    std::array<CostTerms, kCostTerms> squares = {};
    CostTerms products = {};
    for (const Sample& sample : samples)
      for (size_t t = 0; t < kCostTerms; ++t) {
        products[t] += sample.weight * sample.terms[t];
        for (size_t u = 0; u < kCostTerms; ++u)
          squares[t][u] += sample.weight * sample.terms[t] * sample.terms[u];
      }
    costs = least_squares(squares, products);
    for (Sample& sample : samples)
      sample.weight = 1 / std::max(kLeastError, std::abs(std::log(std::max(dot(sample.terms, costs), 1e-9))));
  }
  return costs;
}

}  // namespace

double CostModel::seconds(const CallShape& call, size_t c) const { return dot(terms_of(call), costs[c]); }

CostModel fit_costs(const CellTable& table, const std::vector<size_t>& cells) {
  CostModel model;
  CostTerms unknown;
  unknown.fill(kUnknown);
  for (size_t c = 0; c < table.classes.size(); ++c) {
    std::vector<Sample> samples;
    for (const size_t i : cells) {
      const Cell& cell = table.cells[i];
      if (!cell.measured(c)) continue;
      CostTerms terms = terms_of(cell.call);
      for (double& term : terms) term /= cell.seconds[c];
      samples.push_back({terms, 1});
    }
    model.costs.push_back(samples.empty() ? unknown : fit(std::move(samples)));
  }
  return model;
}

}  // namespace wia
