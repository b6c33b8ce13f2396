// The algorithms that tests go through: the table, and hierarchical ones with algorithms of the levels named.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"

namespace wia {

inline std::vector<const Algorithm*> tested_algorithms() {
  std::vector<const Algorithm*> algorithms;
  for (const Algorithm& algorithm : all_algorithms()) algorithms.push_back(&algorithm);
  const auto add = [&](Collective collective, const char* name) {
    auto found = find_algorithm(collective, name);
    if (!found) std::fprintf(stderr, "%s\n", found.status().text().c_str()), std::abort();
    algorithms.push_back(*found);
  };
  using enum Collective;
  add(all_reduce, "hierarchical:ring:ring");
  add(all_reduce, "hierarchical:pairwise:direct");
  add(all_reduce, "hierarchical:direct:ring:halving_doubling");
  add(all_reduce, "hierarchical:halving_doubling:pairwise:recursive_doubling");
  for (const Collective collective : {all_gather, reduce_scatter}) {
    add(collective, "hierarchical:ring:ring");
    add(collective, "hierarchical:ring:halving_doubling:direct");
    add(collective, "hierarchical:halving_doubling:pairwise:ring");
    add(collective, "hierarchical:direct:ring:pairwise");
  }
  for (const Collective collective : {broadcast, reduce}) {
    add(collective, "hierarchical:pairwise:direct");
    add(collective, "hierarchical:ring:halving_doubling:chain");
  }
  return algorithms;
}
// "all_reduce_hierarchical_direct_ring", for the name of a test.
inline std::string test_name(const Algorithm& algorithm) {
  std::string name = std::string(name_of(algorithm.collective)) + "_" + algorithm.name;
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

}  // namespace wia
