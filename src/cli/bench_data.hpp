// Data of `wia bench --check`: what every rank contributes, and what must come out. Computed without the
// library's own arithmetic: integers exactly, floats in long double.
//
// Contributions are random, differ between neighbours, ranks and seeds, and need no memory: element i of rank
// r is worked out when it is asked for. Where nothing is combined they are random bits; where truth values
// are, about half of the results are true, for any number of ranks.
//
// Integers, copies, minima and maxima must agree exactly. What floats may differ by, for N ranks, u = 2^-53
// (float64) or 2^-24 (the others, which are added up in float32):
//   sum, avg   (N + 2) u (|x_1| + ... + |x_N|), for avg divided by N
//   prod       (N + 2) u |x_1 ... x_N|
// and, for types narrower than float32, half a unit in the last place: they are rounded once. (And the
// smallest number above 0, for what is rounded near 0.) A result that is not finite is always wrong.
#pragma once
#include <cstddef>
#include <cstdint>

#include "cli/bench_plan.hpp"

namespace wia::cli::bench {

class TestData {
 public:
  TestData(const Cell& cell, int rank, int ranks, uint64_t seed);

  // This rank's contribution: send_elements() of the cell; for a broadcast the root's buffer.
  void fill(std::byte* send) const;
  // Elements of `send` that are no longer as fill() left them.
  size_t count_changed(const std::byte* send) const;
  // Elements of this rank's result that are wrong. Looks at every one.
  size_t count_wrong(const std::byte* recv) const;

  // Bits of element i of what a rank contributes.
  uint64_t contribution(int rank, size_t i) const;

 private:
  // The result's element i comes from this element, of this rank, or (reductions) of every rank.
  struct Origin {
    int rank;
    size_t index;
  };
  Origin origin_of(size_t i) const;
  bool combines_to(size_t i, uint64_t got) const;
  bool integers_combine_to(size_t i, uint64_t got) const;
  bool floats_combine_to(size_t i, uint64_t got) const;

  const Cell& cell_;
  const int rank_, ranks_;
  const uint64_t seed_;
  const double zeros_;  // share of contributions that are 0
};

}  // namespace wia::cli::bench
