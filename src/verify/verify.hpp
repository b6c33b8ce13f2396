// Proves algorithms: every schedule gives the right result on every rank, whatever the ranks' speeds.
//
// The engine itself runs all ranks' schedules over the in-process transport, on random 128-bit tokens with
// wrap-around addition; results are compared with the closed form, inputs and the space around buffers must
// be unchanged, and no message may be left over. What is covered for how many ranks is said in case.cpp and
// in docs/verification.md. In short, for each case (root, in place, uneven lengths, nodes):
//
//   deadlock    messages between two ranks: at most 2 a slice in flight; and 16 that make room only in
//               order, for 8 slices in flight
//   hazards     data is read from the sender's own memory, and results are written into the receiver's;
//               each rank in turn (up to 8 ranks; else two) gets a message only when no other can move
//   formats     int32 average, where a partial sum and a result differ
//   slices      1 to 10, windows of 1 to 8, chunks without elements
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/status.hpp"
#include "verify/case.hpp"

namespace wia {

// All runs of one case; the first failure, with the variant in its text.
// Code::unsupported: the algorithm does not offer this shape (on all ranks alike).
Status verify(const Case& a_case);

struct Proof {
  const Algorithm* algorithm = nullptr;
  std::vector<int> proven;       // numbers of ranks
  std::vector<int> unsupported;  // numbers of ranks for which the algorithm offers no shape at all
  size_t cases = 0, runs = 0;
  double seconds = 0;   // of one core
  std::string failure;  // the first one; empty: none
  int failed_ranks = 0;
};

struct VerifyOptions {
  std::vector<int> ranks;
  int threads = 1;
  // Called when a number of ranks of an algorithm is through; by one thread at a time.
  std::function<void(size_t done, size_t all, const Proof& proof)> progress;
};

// Independent of one another and of the order in `algorithms`; what is proven stands in the same order.
std::vector<Proof> verify_all(std::span<const Algorithm* const> algorithms, const VerifyOptions& options);

}  // namespace wia
