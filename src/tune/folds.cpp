#include "tune/folds.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace wia {

std::vector<int> stratified_parts(const std::vector<size_t>& labels, int parts, uint64_t seed) {
  // Not std::shuffle: which numbers that draws is up to the standard library.
  std::mt19937_64 random(seed);
  std::vector<size_t> order(labels.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return labels[a] < labels[b]; });
  // Dealt out like cards, from part to part across the labels.
  const uint64_t first = random();
  std::vector<int> part(labels.size());
  for (size_t i = 0; i < order.size(); ++i)
    part[order[i]] = static_cast<int>((first + i) % static_cast<uint64_t>(parts));
  return part;
}

}  // namespace wia
