// Chooses an algorithm by rules on size and number of ranks.
//
// The rules are those of the standard (WIA-AI-011, 6.4) except where measurements on shared memory say
// otherwise; docs/decisions/ and docs/performance.md have the figures. Readable by people: explain() gives
// the rule that fired.
#pragma once
#include <cstddef>
#include <string>

#include "schedule/collective.hpp"

namespace wia {

struct Choice {
  const char* algorithm;
  const char* reason;
};

// `bytes` as design.md counts them: the buffer of a rank for all_reduce, broadcast and reduce, the whole
// output for all_gather and gather, the whole input for reduce_scatter, scatter and all_to_all. `even`:
// blocks of equal length. `deterministic`: only algorithms that combine in the order of ranks.
Choice choose_by_rules(Collective collective, size_t bytes, int ranks, int nodes, bool even,
                       bool deterministic);

// The table of the standard alone, for comparison: what chapter 6.4 prescribes for all_reduce.
Choice choose_by_standard(size_t bytes, int ranks, bool ring_topology);

}  // namespace wia
