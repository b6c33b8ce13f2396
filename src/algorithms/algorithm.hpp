// The table of algorithms: name, one sentence, constraints, builder.
//
// To add one: write a file beside the others, declare its builder in builders.hpp, add a row in table.cpp.
// `wia verify` then proves it (docs/add-an-algorithm.md).
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace wia {

struct Algorithm {
  Collective collective;
  const char* name;     // "ring"
  const char* summary;  // one sentence
  // Every rank combines contributions in the order of ranks: bits depend on no size and no split.
  bool rank_order;
  // Works when chunks differ in length (the v-variants).
  bool uneven;
  Result<Schedule> (*builder)(const Shape& shape);
  LevelAlgorithms levels{};        // of a hierarchical one
  const Algorithm* row = nullptr;  // of the table, if its levels were named; null: it is one itself

  Result<Schedule> build(const Shape& shape) const;
};

std::span<const Algorithm> all_algorithms();
std::vector<const Algorithm*> algorithms_of(Collective collective);
// A name of the table, or hierarchical:INNERMOST:...:OUTERMOST with the algorithm of each level
// (level_phases.hpp). Unknown name: the error lists what there is. Lives as long as the process.
Result<const Algorithm*> find_algorithm(Collective collective, std::string_view name);

}  // namespace wia
