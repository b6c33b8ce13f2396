// Divides cells into parts at random, the same for the same seed on every machine. Pure; thread safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wia {

// The part (0 to parts - 1) of each item. Stratified: of the items with one label each part has the same
// number, or one more.
std::vector<int> stratified_parts(const std::vector<size_t>& labels, int parts, uint64_t seed);

}  // namespace wia
