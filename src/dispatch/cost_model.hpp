// Predicts how long a collective takes: alpha, beta and gamma of each level applied to the schedules that
// run.
//
// For one algorithm and group the schedules of all ranks say: which messages must follow one another (their
// alphas: the latency; their bytes and reductions: the chain), and how busy the busiest rank, or the NICs of
// the busiest node, are with bytes (the load). A call of b bytes in k slices then takes
//
//   latency + k * overhead + b * load + b * max(chain - load, 0) / k
//
// since slices follow one another through the chain. The k that is best: sqrt(b * (chain - load) / overhead).
// Immutable; thread safe.
#pragma once
#include <vector>

#include "algorithms/algorithm.hpp"
#include "dispatch/costs.hpp"

namespace wia {

// The ranks of a communicator, as its algorithms see them.
struct Group {
  int ranks = 1;
  std::vector<int> nodes;               // by rank: its node, from 0; empty: all on one
  std::vector<std::vector<int>> units;  // as Shape::units
  int num_nodes() const;
  Shape shape(Collective collective, int rank) const;
};

class Price {
 public:
  // Code::unsupported: the algorithm does not fit the group, or its schedules are too long to look through.
  static Result<Price> of(const Algorithm& algorithm, const Group& group, const MachineCosts& costs);

  // Bytes as docs/architecture.md counts them.
  double time_us(size_t bytes, double slices) const;
  double best_slices(size_t bytes) const;  // at least 1
  // A call moves its data in so many chunks, each in slices.
  uint32_t chunks() const { return chunks_; }

 private:
  double latency_us_ = 0, overhead_us_ = 0;  // overhead: of a slice
  double chain_us_ = 0, load_us_ = 0;        // per byte of the call
  uint32_t chunks_ = 1;
};

}  // namespace wia
