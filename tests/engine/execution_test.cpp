// The engine, rank by rank: what steps do, when, on which slice; and calls that do not fit together.
#include <gmock/gmock.h>

#include "engine/engine.hpp"

namespace wia {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Engine, MovesDataFromRankToRank) {
  make(2, 3, 1, send_to_1);
  start_all();
  EXPECT_EQ(advance(1), State::waiting);
  EXPECT_THAT(at(1).execution->waiting_for(), ElementsAre(0));
  EXPECT_EQ(at(1).execution->cursors(), "lane 0: slice 0/1 step 0/1");
  EXPECT_EQ(advance(0), State::done);
  EXPECT_EQ(advance(1), State::done);
  EXPECT_THAT(at(1).out, ElementsAre(0, 1, 2));
}

TEST_F(Engine, IsUsedAgainAndAgain) {
  make(2, 3, 1, send_to_1);
  for (int i = 0; i < 5; ++i) {
    at(0).in = {i, i + 1, i + 2};
    run();
    EXPECT_THAT(at(1).out, ElementsAre(i, i + 1, i + 2));
  }
}

// A call succeeds only once those it sends to, and never hears from, have entered it.
TEST_F(Engine, WaitsForSilentPeersToEnter) {
  make(2, 3, 1, send_to_1);
  start(0);
  EXPECT_EQ(advance(0), State::moved);
  EXPECT_EQ(advance(0), State::waiting);
  EXPECT_THAT(at(0).execution->waiting_for(), ElementsAre(1));
  start(1);
  EXPECT_EQ(advance(0), State::done);
}

TEST_F(Engine, SlicesArePiecesOfEveryChunk) {
  make(2, 10, 2, [](Builder& builder, int rank) {
    for (uint32_t c = 0; c < 2; ++c) {
      if (rank == 0) builder.send(0, 1, input(c), static_cast<int>(c));
      if (rank == 1) builder.recv(0, 0, output(c), static_cast<int>(c));
    }
  });
  slice(2, 3, 1);
  start_all();
  at(1).execution->advance();
  EXPECT_EQ(advance(0), State::done);
  EXPECT_EQ(group_->endpoint(1).undelivered(), 6u);
  group_->endpoint(1).allow(2);
  EXPECT_EQ(advance(1), State::moved);
  EXPECT_THAT(at(1).out, ElementsAre(0, 1, -1, -1, -1, 5, 6, -1, -1, -1));
  group_->endpoint(1).allow(LoopEndpoint::kUnlimited);
  EXPECT_EQ(advance(1), State::done);
  EXPECT_EQ(at(1).out, at(0).in);
}

// One lane is ahead by so many slices as the window has.
TEST_F(Engine, TheWindowBoundsTheSlicesInFlight) {
  const Steps two_lanes = [](Builder& builder, int rank) {
    if (rank == 0) {
      builder.send(0, 1, input(0), 0);
      builder.recv(1, 1, output(0), 1);
    } else {
      builder.recv(0, 0, output(0), 0);
      builder.send(0, 0, output(0), 1);
    }
  };
  for (const uint32_t window : {1u, 2u, 3u}) {
    make(2, 8, 1, two_lanes);
    slice(1, 8, window);
    start_all();
    advance(0);
    EXPECT_EQ(group_->endpoint(1).undelivered(), window);
    EXPECT_TRUE(finish_all());
    EXPECT_EQ(at(0).out, at(0).in);
  }
}

// Beyond the end of a chunk neither side has a message; the first slice always has one.
TEST_F(Engine, ChunksWithoutElements) {
  make(2, 1, 3, [](Builder& builder, int rank) {
    for (uint32_t c = 0; c < 3; ++c) {
      if (rank == 0) builder.send(0, 1, input(c), static_cast<int>(c));
      if (rank == 1) builder.recv(0, 0, output(c), static_cast<int>(c));
    }
  });
  slice(1, 2, 2);
  start_all();
  EXPECT_EQ(advance(0), State::done);
  EXPECT_EQ(group_->endpoint(1).undelivered(), 3u);
  EXPECT_TRUE(finish_all());
  EXPECT_THAT(at(1).out, ElementsAre(0));
}

TEST_F(Engine, UnevenChunksLieWhereTheirOffsetsSay) {
  const size_t lengths[] = {3, 0, 1}, offsets[] = {2, 0, 0};
  make(2, 5, 3, [](Builder& builder, int rank) {
    if (rank == 0) builder.send(0, 1, input(0), 0, 3);
    if (rank == 1) builder.recv(0, 0, output(0), 0, 3);
  });
  for (Rank& rank : ranks_) {
    rank.binding.input_extents = Extents::given(lengths, offsets, 3);
    rank.binding.output_extents = rank.binding.input_extents;
    rank.binding.measure();
  }
  slice(2, 2, 2);
  run();
  EXPECT_THAT(at(1).out, ElementsAre(0, -1, 2, 3, 4));
}

TEST_F(Engine, LanesWaitForOneAnother) {
  make(2, 2, 1, [](Builder& builder, int rank) {
    if (rank == 1) {
      builder.send(0, 0, input(0), 0);
      return;
    }
    builder.recv(0, 1, output(0), 0);
    const uint32_t place = builder.allocate_scratch(1);
    builder.wait(1, 0, 1);
    builder.copy(1, scratch(place), output(0), 1, output(0));
    const Ref sources[] = {scratch(place), input(0)};
    builder.reduce(1, output(0), sources, output(0));
  });
  start_all();
  EXPECT_EQ(advance(0), State::waiting);
  EXPECT_TRUE(finish_all());
  EXPECT_THAT(at(0).out, ElementsAre(100 + 0, 101 + 1));
}

TEST_F(Engine, APeerInAnotherCallIsAMismatch) {
  make(2, 3, 1, send_to_1);
  start(0, 1);
  start(1, 2);
  advance(0);
  EXPECT_EQ(advance(1), State::failed);
  EXPECT_EQ(at(1).execution->status().code(), Code::mismatch);
  EXPECT_EQ(at(1).execution->mismatched_peer(), 0);
  // The sender hears from nobody, and notices all the same.
  EXPECT_EQ(advance(0), State::failed);
  EXPECT_EQ(at(0).execution->mismatched_peer(), 1);
}

TEST_F(Engine, AMessageOfTheWrongLengthIsNamed) {
  make(2, 3, 1, send_to_1);
  at(1).binding.output_extents = Extents::even(2, 1);
  start_all();
  advance(0);
  EXPECT_EQ(advance(1), State::failed);
  EXPECT_THAT(at(1).execution->status().text(), HasSubstr("rank 0 sent 12 bytes"));
}

TEST_F(Engine, AFailureIsOverWithTheNextCall) {
  make(2, 3, 1, send_to_1);
  start(1, 2);
  CallSignature call;
  call.sequence = sequence_;
  call.hash = 1;
  group_->endpoint(0).enter(call, {}, nullptr, 0);
  EXPECT_EQ(advance(1), State::failed);
  EXPECT_EQ(advance(1), State::failed);
  ++sequence_;
  run();
  EXPECT_EQ(at(1).out, at(0).in);
}

TEST_F(Engine, AScheduleOfNoStepsIsDoneAtOnce) {
  make(1, 3, 1, [](Builder&, int) {});
  start_all();
  EXPECT_EQ(advance(0), State::done);
}

}  // namespace
}  // namespace wia
