// Measures one line of `wia bench` on the ranks of a communicator.
//
// Timing as bench/compare does: before each call a barrier that is not counted, then from the first rank's
// start to the last rank's end on CLOCK_MONOTONIC, which the processes of a host share.
#pragma once
#include <string>

#include "cli/bench_data.hpp"
#include "wia/wia.h"

namespace wia::cli::bench {

struct Line {
  Shape shape;
  std::string algorithm;
  uint64_t bytes = 0;  // as design counts them
  bool in_place = false, checked = false;
  int iterations = 0;
  double median_us = 0, p99_us = 0, min_us = 0;
  double algorithm_bandwidth = 0, bus_bandwidth = 0;  // GB/s
  size_t wrong = 0;                                   // elements, over all ranks
  std::string skipped;                                // why it was not measured; empty: it was
};

// Collective over `comm`. Throws std::runtime_error with the library's words when a call fails.
void measure(const Options& options, wia_communicator_t* comm, Line* line);

}  // namespace wia::cli::bench
