// Measures the links between the ranks of a communicator with its own point-to-point messages.
//
// Collective: every rank calls it, nothing else may be under way. One pair at a time; the others wait in a
// barrier. Of a link: latency is half the median round trip of 8 bytes; bandwidth is the best over 1 MiB, 10
// MiB, 100 MiB and 1 GiB, each the median of batches after a warm-up. A size that would not fit the time or a
// quarter of the free memory is left out. A rank with itself: copies.
#pragma once
#include <cstdint>
#include <functional>

#include "communicator/communicator.hpp"
#include "topology/topology.hpp"

namespace wia {

// Those of rank 0 count, but for `progress`.
struct MeasureOptions {
  bool measure = true;  // else the ranks only tell where they are
  uint64_t largest_bytes = uint64_t{1} << 30;
  int64_t budget_ms = 1000;  // about so long for a pair
  int all_pairs_up_to = 16;  // ranks; of more, a sample is measured
  std::function<void(int done, int all)> progress;
};

// The same topology on every rank.
Result<Topology> measure_topology(Communicator& communicator, const MeasureOptions& options);

}  // namespace wia
