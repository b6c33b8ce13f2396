// How many rounds algorithms take, how much they send, and what the engine can fuse: what they are chosen
// for.
#include <gtest/gtest.h>

#include <map>

#include "algorithms/algorithm.hpp"
#include "algorithms/peers.hpp"
#include "tested.hpp"

namespace wia {
namespace {

Schedule build(Collective collective, const char* name, int ranks, int rank = 0, std::vector<int> node = {}) {
  Shape shape;
  shape.collective = collective;
  shape.ranks = ranks;
  shape.rank = rank;
  shape.units = {std::move(node)};
  auto schedule = (*find_algorithm(collective, name))->build(shape);
  EXPECT_TRUE(schedule.ok()) << schedule.status().text();
  return std::move(*schedule);
}

struct Counts {
  int sends = 0, recvs = 0, chunks_sent = 0, fused_sends = 0, views = 0;
};

Counts counts_of(const Schedule& schedule) {
  Counts counts;
  for (int l = 0; l < schedule.lanes(); ++l) {
    for (const Step& step : schedule.lane(l)) {
      if (step.kind == Kind::send) {
        ++counts.sends;
        counts.chunks_sent += step.chunks;
      } else {
        counts.recvs += step.kind == Kind::recv || step.kind == Kind::recv_reduce;
        counts.views += step.kind == Kind::recv && (step.flags & kView) != 0;
        counts.fused_sends += step.fused;
      }
    }
  }
  return counts;
}

TEST(Counts, Ring) {
  for (const int n : {2, 3, 8, 17}) {
    const Schedule all_reduce = build(Collective::all_reduce, "ring", n);
    EXPECT_EQ(counts_of(all_reduce).sends, 2 * (n - 1));
    EXPECT_EQ(counts_of(all_reduce).chunks_sent, 2 * (n - 1));
    EXPECT_EQ(counts_of(all_reduce).fused_sends, n - 1);
    EXPECT_EQ(counts_of(build(Collective::all_gather, "ring", n)).sends, n - 1);
    EXPECT_EQ(counts_of(build(Collective::reduce_scatter, "ring", n)).recvs, n - 1);
  }
}

TEST(Counts, TwoPhaseReadsInPlaceAndWritesToAllAtOnce) {
  for (const int n : {2, 5, 16}) {
    const Counts counts = counts_of(build(Collective::all_reduce, "two_phase", n));
    EXPECT_EQ(counts.sends, 2 * (n - 1));
    EXPECT_EQ(counts.views, n - 1);
    EXPECT_EQ(counts.fused_sends, n - 1);
  }
}

TEST(Counts, RoundsAreLogarithmic) {
  for (const int n : {2, 4, 8, 16, 32}) {
    const int rounds = ceil_log2(n);
    EXPECT_EQ(counts_of(build(Collective::all_reduce, "recursive_doubling", n)).sends, rounds);
    EXPECT_EQ(counts_of(build(Collective::all_reduce, "halving_doubling", n)).sends, 2 * rounds);
    EXPECT_EQ(counts_of(build(Collective::all_reduce, "halving_doubling", n)).chunks_sent, 2 * (n - 1));
    EXPECT_EQ(counts_of(build(Collective::reduce_scatter, "halving_doubling", n)).sends, rounds);
    EXPECT_EQ(counts_of(build(Collective::all_gather, "recursive_doubling", n)).sends, rounds);
    EXPECT_EQ(counts_of(build(Collective::all_gather, "bruck", n)).sends, rounds);
    EXPECT_EQ(counts_of(build(Collective::barrier, "dissemination", n)).sends, rounds);
  }
}

// Whatever the number of ranks, halving_doubling and bruck send no more than is needed.
TEST(Counts, LeastTrafficForAnyNumberOfRanks) {
  for (int n = 1; n <= 50; ++n) {
    EXPECT_EQ(counts_of(build(Collective::all_reduce, "halving_doubling", n)).chunks_sent, 2 * (n - 1));
    EXPECT_EQ(counts_of(build(Collective::reduce_scatter, "halving_doubling", n)).chunks_sent, n - 1);
    EXPECT_EQ(counts_of(build(Collective::all_gather, "bruck", n)).chunks_sent, n - 1);
    EXPECT_EQ(counts_of(build(Collective::barrier, "dissemination", n)).sends, ceil_log2(n));
  }
}

TEST(Counts, BruckAllToAllHasFewMessages) {
  for (int n = 2; n <= 70; ++n)
    EXPECT_LE(counts_of(build(Collective::all_to_all, "bruck", n)).sends, 3 * ceil_log2(n));
}

TEST(Counts, TreesHaveFewChildren) {
  for (int rank = 0; rank < 64; ++rank) {
    EXPECT_LE(counts_of(build(Collective::all_reduce, "double_tree", 64, rank)).sends, 2 + 2 + 2);
    EXPECT_LE(counts_of(build(Collective::broadcast, "knomial", 64, rank)).sends, 3 * 3);
  }
}

TEST(Counts, DirectSendsToAllAtOnce) {
  const Schedule schedule = build(Collective::all_gather, "direct", 9);
  EXPECT_EQ(schedule.max_fused(), 8u);
  EXPECT_EQ(counts_of(build(Collective::all_reduce, "direct", 9)).views, 8);
}

// Of 4 nodes of 8, a rank's own chunks cross nodes once up and once down; everything else stays inside.
TEST(Counts, HierarchicalCrossesNodesAsLittleAsPossible) {
  std::vector<int> node(32);
  for (int r = 0; r < 32; ++r) node[r] = r / 8;
  for (const char* name : {"hierarchical", "hierarchical_ring"}) {
    const Schedule schedule = build(Collective::all_reduce, name, 32, 9, node);
    int across = 0;
    for (int l = 0; l < schedule.lanes(); ++l) {
      for (const Step& step : schedule.lane(l)) {
        if (step.kind == Kind::send && node[step.peer] != node[9]) across += step.chunks;
      }
    }
    EXPECT_EQ(schedule.input_chunks(), 32u);
    EXPECT_EQ(across, 2 * (4 - 1));
  }
}

// Lanes that send to one rank out of order need room for all slices in flight: two messages each are granted.
TEST(Counts, SeveralStreamsHaveTwoMessagesAtMost) {
  for (const Algorithm* algorithm : tested_algorithms()) {
    for (int n : {2, 3, 6, 8, 12, 16}) {
      Shape shape;
      shape.collective = algorithm->collective;
      shape.ranks = n;
      for (const int size : {1, 3, 4, 16}) {
        shape.units.assign(1, std::vector<int>(n));
        for (int r = 0; r < n; ++r) shape.units[0][r] = r < size ? 0 : 1 + (r - size) / 2;
        if (size == 3) {  // nodes of three such units
          for (const int unit : std::vector<int>(shape.units[0]))
            shape.units.resize(2), shape.units[1].push_back(unit / 3);
        }
        for (shape.rank = 0; shape.rank < n; ++shape.rank) {
          auto schedule = algorithm->build(shape);
          ASSERT_TRUE(schedule.ok()) << schedule.status().text();
          std::map<int, std::map<int, int>> sent;  // by peer, by lane
          for (int l = 0; l < schedule->lanes(); ++l) {
            for (const Step& step : schedule->lane(l)) sent[step.peer][l] += step.kind == Kind::send;
          }
          for (const auto& [peer, by_lane] : sent) {
            int lanes = 0, messages = 0;
            for (const auto& [lane, count] : by_lane) lanes += count > 0, messages += count;
            if (peer < 0 || lanes < 2) continue;
            EXPECT_LE(messages, 2) << name_of(algorithm->collective) << " " << algorithm->name;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace wia
