// Measures one line of `wia bench` on the ranks of a communicator.
//
// Timing is that of bench/compare. For each call: a barrier that is not counted, then from the first rank's
// start to the last rank's end on CLOCK_MONOTONIC. As many calls as fit kBudget, unless the options say how
// many.
#pragma once
#include <cstdint>
#include <vector>

#include "cli/bench_buffers.hpp"
#include "cli/bench_meeting.hpp"
#include "cli/bench_plan.hpp"

namespace wia::cli::bench {

struct Measurement {
  int iterations = 0;
  double median_us = 0, p99_us = 0, min_us = 0;
  uint64_t wrong = 0;  // elements and guard bytes, over all ranks; with Options::check
};

constexpr double kBudget = 0.3;  // seconds of timed calls
constexpr int kMostIterations = 4000;

// Collective: how long each of so many calls took all ranks, in ns, ascending; complete on rank 0. Throws as
// measure() does.
std::vector<int64_t> time_calls(const Buffers& buffers, Meeting& meeting, int calls);

// Collective. Throws std::runtime_error with the library's words when a call fails; the communicator is then
// of no more use.
Measurement measure(const Options& options, const Cell& cell, wia_communicator_t* comm, Meeting& meeting);

}  // namespace wia::cli::bench
