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
std::vector<Variant> variants_of(const Case& a_case);

}  // namespace wia
