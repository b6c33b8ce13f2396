// What is proven of an algorithm: in which shapes it is built, and in which ways each of them is run.
//
// A Case is the group that makes the call. A Variant is one run of it: how much data, in how many slices,
// what the transport can do, and in what order the ranks move. Everything follows from (algorithm, ranks)
// alone, so that a failure is repeated by naming these.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "transport/loop.hpp"

namespace wia {

struct Case {
  const Algorithm* algorithm = nullptr;
  Shape shape;         // of all ranks; `rank` and `in_place` are set by shape_of
  std::string layout;  // of the ranks on nodes, for people; empty: one node
  int turn = 0;        // counts the cases of the same ranks: which variants are this one's, see variants_of
  enum class InPlace : uint8_t { none, all, some } in_place = InPlace::none;

  // As rank r would call. With a root only the root can be in place; the others cannot know whether it is.
  Shape shape_of(int rank) const;
  std::string text() const;  // "5 ranks, root 2, in place, nodes of 2"
};

// What the elements are.
enum class Element : uint8_t {
  token,  // random 128-bit numbers, added with wrap-around: any wrong, missing or doubled contribution shows
  average,  // 32-bit integers, averaged: partial sums are longer, and divided once, so formats that differ
            // show
};

enum class Order : uint8_t {
  forward,  // rank 0, 1, 2 ..., each as far as it can go
  backward,
  random,  // one message at a time
  starve,  // the victim gets a message only when nobody else can move: data waits for it as long as it can
  even,    // rank 0, 1, 2 ..., each sends a few messages at a time: few are on their way
};

struct Variant {
  Element element = Element::token;
  uint32_t length = 3;  // elements of a chunk; 0: few for so many chunks, or none at all
  uint32_t unit = 1;    // of an even split
  uint32_t slices = 1, window = 1;
  LoopOptions transport;
  Order order = Order::forward;
  int victim = -1;
  uint64_t seed = 0;

  std::string text() const;  // "3 elements a chunk, 3 slices (window 2), direct, capacity 2, random order"
};

// Cases of an algorithm for a number of ranks.
std::vector<Case> cases_of(const Algorithm& algorithm, int ranks);
// Up to 16 ranks all variants, and on one node up to 33. Beyond, up to 128, a case gets every third one: the
// next case (in place, uneven, another root or layout) gets the next third, and so does the same case with
// one more rank. Why that is enough: what more ranks or nodes add is who talks to whom, and every case is
// still run with all its ranks, with all its messages matched. The hazards of data that waits, of slices and
// of formats lie between the steps of few ranks; they show with few ranks, where nothing is left out. The
// cost of a run grows with the square of the ranks. Above 128 ranks there is one variant.
std::vector<Variant> variants_of(const Case& a_case);
// For check_match: 1 unless the ranks are very many.
int match_stride(int ranks);

}  // namespace wia
