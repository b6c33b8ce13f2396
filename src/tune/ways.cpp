#include "tune/ways.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dispatch/rules.hpp"
#include "tune/cost_model.hpp"

namespace wia {
namespace {

std::vector<double> point_of(const CallShape& call) {
  std::vector<double> point;
  for (const Quantity& quantity : call_quantities()) {
    const double value = call.*quantity.member;
    point.push_back(std::isnan(value) ? 0 : std::log2(std::max(value, 1e-3)));
  }
  return point;
}

// What is not known comes last.
std::vector<size_t> by_time(const std::vector<double>& seconds) {
  std::vector<size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (std::isnan(seconds[a]) || std::isnan(seconds[b]))
      return !std::isnan(seconds[a]) && std::isnan(seconds[b]);
    return seconds[a] < seconds[b];
  });
  return order;
}

}  // namespace

Ranking always(size_t chosen, size_t classes) {
  std::vector<size_t> order(classes);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(chosen),
              order.begin() + static_cast<std::ptrdiff_t>(chosen) + 1);
  return [order](const Cell&) { return order; };
}

size_t best_fixed(const CellTable& table, const std::vector<size_t>& cells) {
  size_t best = 0;
  double least = HUGE_VAL;
  for (size_t c = 0; c < table.classes.size(); ++c) {
    double sum = 0, measured = 0;
    for (const size_t i : cells) {
      if (!table.cells[i].measured(c)) continue;
      sum += std::log(table.cells[i].regret(c));
      ++measured;
    }
    if (measured > 0 && sum / measured < least) best = c, least = sum / measured;
  }
  return best;
}

Ranking nearest(const CellTable& table, const std::vector<size_t>& cells) {
  std::vector<std::vector<double>> points;
  std::vector<double> least, most;
  for (const size_t i : cells) {
    points.push_back(point_of(table.cells[i].call));
    if (least.empty()) least = most = points.back();
    for (size_t q = 0; q < least.size(); ++q) {
      least[q] = std::min(least[q], points.back()[q]);
      most[q] = std::max(most[q], points.back()[q]);
    }
  }
  return [=, &table](const Cell& cell) {
    const std::vector<double> at = point_of(cell.call);
    size_t best = cells.front();
    double shortest = HUGE_VAL;
    for (size_t i = 0; i < points.size(); ++i) {
      double distance = 0;
      for (size_t q = 0; q < at.size(); ++q)
        if (most[q] > least[q]) distance += std::pow((points[i][q] - at[q]) / (most[q] - least[q]), 2);
      if (distance < shortest) best = cells[i], shortest = distance;
    }
    return by_time(table.cells[best].seconds);
  };
}

Ranking by_standard(const CellTable& table, size_t usual) {
  return [=, &table](const Cell& cell) {
    const Choice choice = choose_by_standard(static_cast<size_t>(cell.call.bytes),
                                             static_cast<int>(cell.call.ranks), nodes_of(cell.call) == 1);
    const size_t named = table.class_of(choice.algorithm);
    return always(named < table.classes.size() ? named : usual, table.classes.size())(cell);
  };
}

Ranking cheapest(const CellTable& table, const std::vector<size_t>& cells) {
  return [model = fit_costs(table, cells)](const Cell& cell) {
    std::vector<double> seconds;
    for (size_t c = 0; c < model.costs.size(); ++c) seconds.push_back(model.seconds(cell.call, c));
    return by_time(seconds);
  };
}

}  // namespace wia
