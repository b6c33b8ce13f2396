// bruck: all_gather and all_to_all in ceil(log2 n) rounds for any n (Bruck, Ho, Kipnis, Upfal, Weathersby,
// "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997).
//
//   all_gather  Everyone holds 1, 2, 4, ... blocks and swaps them around the circle (circulant.cpp).
//   all_to_all  Block j of a rank is the one for the rank j behind it. In the round of bit k, all blocks
//               whose j has that bit move on by 2^k ranks, so that each gets where it belongs in the steps
//               that the bits of j say.
//
// all_to_all sends each block log2(n) / 2 times on average, in few messages instead of n - 1: for small
// blocks. A round's blocks stand next to each other in scratch, highest j first, because then those that
// arrive for good (no higher bit in j) are the last of the message and lie as in the output. All others are
// copied to where the round of their next bit sends them from. The ranks in between do not know the lengths
// of the blocks, so they must be equal.
#include <bit>
#include <optional>

#include "algorithms/builders.hpp"
#include "algorithms/flat.hpp"
#include "algorithms/peers.hpp"

namespace wia {

void bruck_all_gather(Flow& flow, const Blocks& blocks, Place own, Place all) {
  circulant_all_gather(flow, doubling_counts(flow.size()), blocks, own, all);
}

Result<Schedule> bruck_all_gather(const Shape& shape) { return flat_all_gather(shape, bruck_all_gather); }

namespace {

// The blocks that move in one round.
struct Round {
  int distance;
  std::vector<int> blocks;  // with this bit, highest first
  int passing = 0;          // so many of them, at the front, have a higher bit too
  uint32_t area = 0;        // scratch they are sent from
};

class AllToAll {
 public:
  explicit AllToAll(const Shape& shape)
      : n_(shape.ranks), rank_(shape.rank), in_place_(shape.in_place), builder_(shape) {
    for (int distance = 1; distance < n_; distance *= 2) add_round(distance);
  }

  Result<Schedule> build() && {
    const auto own = static_cast<uint32_t>(rank_);
    for (size_t k = 0; k < rounds_.size(); ++k) {
      if (k == 0) fill(rounds_[0]);
      send(rounds_[k]);
      // Before anything arrives, all is out of the input: in place it would be overwritten.
      for (size_t later = 1; k == 0 && later < rounds_.size(); ++later) fill(rounds_[later]);
      receive(rounds_[k]);
      pass_on(k);
    }
    if (!in_place_) builder_.copy(0, output(own), input(own), 1, output(own));
    return std::move(builder_).finish();
  }

 private:
  void add_round(int distance) {
    Round round{distance, {}};
    for (int j = n_ - 1; j > 0; --j) {
      if (!(j & distance)) continue;
      round.blocks.push_back(j);
      round.passing += j >= 2 * distance;
    }
    round.area = builder_.allocate_scratch(static_cast<uint32_t>(round.blocks.size()));
    position_.resize(position_.size() + n_);
    uint32_t* position = &position_[rounds_.size() * n_];
    for (size_t i = 0; i < round.blocks.size(); ++i) position[round.blocks[i]] = static_cast<uint32_t>(i);
    most_passing_ = std::max(most_passing_, round.passing);
    rounds_.push_back(std::move(round));
  }

  // Blocks that have not moved before come from the input.
  void fill(const Round& round) {
    for (size_t i = 0; i < round.blocks.size(); ++i) {
      const int j = round.blocks[i];
      if (j % round.distance != 0) continue;
      const auto chunk = static_cast<uint32_t>(around(rank_ + j, n_));
      builder_.copy(0, scratch(round.area + static_cast<uint32_t>(i)), input(chunk), 1, output(0));
    }
  }

  // Calls function(index of the first block in the round, run of the output) for the blocks that `rank`
  // keeps.
  template <class Function>
  static void for_each_arrival(const Round& round, int rank, int n, Function&& function) {
    std::vector<uint32_t> chunks;
    for (size_t i = round.passing; i < round.blocks.size(); ++i) {
      chunks.push_back(static_cast<uint32_t>(around(rank - round.blocks[i], n)));
    }
    auto index = static_cast<uint32_t>(round.passing);
    for (const Run run : runs_of(chunks)) {
      function(index, run);
      index += run.count;
    }
  }

  void send(const Round& round) {
    const int to = around(rank_ + round.distance, n_);
    const auto passing = static_cast<uint32_t>(round.passing);
    int tag = 0;
    if (passing > 0) builder_.send(0, to, scratch(round.area), tag, passing, output(0));
    for_each_arrival(round, to, n_, [&](uint32_t index, Run run) {
      builder_.send(0, to, scratch(round.area + index), ++tag, run.count, output(run.first));
    });
  }

  void receive(const Round& round) {
    const int from = around(rank_ - round.distance, n_);
    const auto passing = static_cast<uint32_t>(round.passing);
    int tag = 0;
    if (passing > 0) {
      if (!arrivals_) arrivals_ = builder_.allocate_scratch(static_cast<uint32_t>(most_passing_));
      builder_.recv(0, from, scratch(*arrivals_), tag, passing, output(0));
    }
    for_each_arrival(round, rank_, n_,
                     [&](uint32_t, Run run) { builder_.recv(0, from, output(run.first), ++tag, run.count); });
  }

  // Copies what passes through to the areas of the rounds of the blocks' next bits, in rows.
  void pass_on(size_t k) {
    const Round& round = rounds_[k];
    const auto goal = [&](int i) {
      const int j = round.blocks[i];
      const int above = j & ~(2 * round.distance - 1);
      const auto next = static_cast<size_t>(std::countr_zero(static_cast<unsigned>(above)));
      return rounds_[next].area + position_[next * n_ + j];
    };
    for (int i = 0; i < round.passing;) {
      int end = i + 1;
      while (end < round.passing && goal(end) == goal(end - 1) + 1) ++end;
      builder_.copy(0, scratch(goal(i)), scratch(*arrivals_ + static_cast<uint32_t>(i)),
                    static_cast<uint32_t>(end - i), output(0));
      i = end;
    }
  }

  const int n_, rank_;
  const bool in_place_;
  Builder builder_;
  std::vector<Round> rounds_;
  std::vector<uint32_t> position_;  // [round * n + j]: where block j stands in that round
  int most_passing_ = 0;
  std::optional<uint32_t> arrivals_;
};

}  // namespace

Result<Schedule> bruck_all_to_all(const Shape& shape) {
  if (!shape.even) {
    return Status(Code::unsupported, "bruck all_to_all needs blocks of equal length; use direct or pairwise");
  }
  return AllToAll(shape).build();
}

}  // namespace wia
