// The engine, rank by rank over the loop transport: what single steps do, and when.
#include "engine/execution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "transport/loop.hpp"

namespace wia {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using State = Execution::State;

Shape all_reduce_shape(int ranks, int rank) {
  Shape shape;
  shape.ranks = ranks;
  shape.rank = rank;
  return shape;
}

// Ranks with int32 buffers, each with a schedule of its own.
class Engine : public testing::Test {
 protected:
  struct Rank {
    Schedule schedule;
    Binding binding;
    std::unique_ptr<Execution> execution;
    std::vector<int32_t> in, out;
  };
  using Steps = std::function<void(Builder&, int rank)>;

  // Buffers of all_reduce in `split` chunks; inputs are 100 * rank + 0, 1, 2 ...
  void make(int ranks, uint64_t count, uint32_t split, const Steps& steps, const LoopOptions& options = {}) {
    group_ = std::make_unique<LoopGroup>(ranks, options);
    ranks_.clear();
    ranks_.resize(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      Rank& rank = at(r);
      Builder builder(all_reduce_shape(ranks, r), split);
      steps(builder, r);
      auto finished = std::move(builder).finish();
      ASSERT_TRUE(finished.ok()) << finished.status().text();
      rank.schedule = std::move(*finished);
      rank.execution = std::make_unique<Execution>(group_->endpoint(r));
      rank.in.resize(count);
      std::iota(rank.in.begin(), rank.in.end(), 100 * r);
      rank.out.assign(count, -1);
      bind(rank, count, split, options);
    }
  }
  void bind(Rank& rank, uint64_t count, uint32_t split, const LoopOptions& options) {
    rank.binding.input = reinterpret_cast<std::byte*>(rank.in.data());
    rank.binding.output = reinterpret_cast<std::byte*>(rank.out.data());
    rank.binding.input_extents = rank.binding.output_extents = Extents::even(count, split);
    rank.binding.raw_bytes = sizeof(int32_t);
    rank.binding.reducer = &reducer_;
    rank.binding.slice_elements = std::max<uint64_t>(rank.binding.output_extents.longest(), 1);
    rank.binding.direct_from = options.direct ? 1 : SIZE_MAX;
    rank.binding.measure();
  }
  void slice(uint64_t elements, uint32_t slices, uint32_t window) {
    for (Rank& rank : ranks_) {
      rank.binding.slice_elements = elements;
      rank.binding.slices = slices;
      rank.binding.window = window;
    }
  }
  Rank& at(int rank) { return ranks_[static_cast<size_t>(rank)]; }
  void start(int rank, uint32_t hash = 1) {
    CallSignature call;
    call.sequence = sequence_;
    call.hash = hash;
    at(rank).execution->start(at(rank).schedule, at(rank).binding, call);
  }
  void start_all() {
    for (int r = 0; r < group_->ranks(); ++r) start(r);
  }
  State advance(int rank) { return at(rank).execution->advance(); }
  // Until all are done, or nobody moves.
  bool finish_all() {
    std::vector<bool> done(ranks_.size(), false);
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t r = 0; r < ranks_.size(); ++r) {
        if (done[r]) continue;
        const State state = advance(static_cast<int>(r));
        done[r] = state == State::done;
        moved |= done[r] || state == State::moved;
      }
    }
    ++sequence_;
    return std::count(done.begin(), done.end(), true) == static_cast<long>(done.size()) &&
           group_->undelivered() == 0;
  }
  void run() {
    start_all();
    ASSERT_TRUE(finish_all());
  }

  std::unique_ptr<LoopGroup> group_;
  std::vector<Rank> ranks_;
  Reducer reducer_ = Reducer::make(DType::int32, Op::sum, 2).value();
  uint64_t sequence_ = 1;
};

// Rank 0 sends all to rank 1.
void send_to_1(Builder& builder, int rank) {
  if (rank == 0) builder.send(0, 1, input(0), 0);
  if (rank == 1) builder.recv(0, 0, output(0), 0);
}

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

// A view: received data is read by the reduction where it arrived, and released then.
TEST_F(Engine, ViewsAreReadWhereTheyArrived) {
  make(3, 2, 1, [](Builder& builder, int rank) {
    if (rank > 0) {
      builder.send(0, 0, input(0), 0);
      return;
    }
    const uint32_t place = builder.allocate_scratch(2);
    builder.recv(0, 1, scratch(place), 0, 1, output(0));
    builder.recv(0, 2, scratch(place + 1), 0, 1, output(0));
    const Ref sources[] = {scratch(place), input(0), scratch(place + 1)};
    builder.reduce(0, output(0), sources, output(0));
  });
  EXPECT_TRUE(at(0).schedule.has_views());
  EXPECT_FALSE(at(0).schedule.needs_scratch_memory());
  start_all();
  advance(1);
  EXPECT_EQ(advance(0), State::moved);
  EXPECT_EQ(group_->endpoint(0).undelivered(), 1u);  // seen, not released
  EXPECT_TRUE(finish_all());
  EXPECT_THAT(at(0).out, ElementsAre(300, 303));
}

// Rank 0 adds what rank 1 sends, and sends the sum to both others.
void reduce_and_share(Builder& builder, int rank) {
  if (rank == 1) builder.send(0, 0, input(0), 0);
  if (rank == 2) builder.send(0, 0, input(0), 2, 0);  // only so that rank 0 has heard from it
  if (rank > 0) {
    builder.recv(0, 0, output(0), 1);
    return;
  }
  builder.recv(0, 2, output(0), 2, 0);
  builder.recv_reduce(0, 1, output(0), input(0), 0, 1, output(0));
  builder.send(0, 1, output(0), 1);
  builder.send(0, 2, output(0), 1);
}

TEST_F(Engine, AReductionAndItsSendsAreOneStep) {
  for (const bool landing : {false, true}) {
    make(3, 2, 1, reduce_and_share, {.capacity = 1, .direct = landing, .landing = landing});
    start_all();
    advance(1), advance(2);
    EXPECT_NE(advance(0), State::failed);
    // Written into the peers' outputs at once, where these can be reached.
    if (landing) {
      EXPECT_THAT(at(2).out, ElementsAre(100, 102));
    }
    EXPECT_TRUE(finish_all());
    for (int r = 0; r < 3; ++r) EXPECT_THAT(at(r).out, ElementsAre(100, 102));
  }
}

TEST_F(Engine, AReductionWaitsUntilAllItsPeersHaveRoom) {
  make(3, 2, 1, reduce_and_share, {.capacity = 1});
  const int busy[] = {2};
  ASSERT_NE(group_->endpoint(0).stage(busy, 1), nullptr);
  group_->endpoint(0).post(busy, {99, 0, 0}, 1);
  start_all();
  advance(1), advance(2);
  advance(0);
  EXPECT_EQ(at(0).execution->cursors(), "lane 0: slice 0/1 step 1/4");
  Message other;
  ASSERT_TRUE(group_->endpoint(2).find(0, {99, 0, 0}, &other));
  group_->endpoint(2).release(0, other);
  EXPECT_TRUE(finish_all());
  EXPECT_THAT(at(2).out, ElementsAre(100, 102));
}

// Sends of the same data next to each other are posted together.
TEST_F(Engine, AGroupIsSentToAllOrNone) {
  make(3, 2, 1,
       [](Builder& builder, int rank) {
         if (rank > 0) {
           builder.recv(0, 0, output(0), 0);
           return;
         }
         builder.send(0, 1, input(0), 0);
         builder.send(0, 2, input(0), 0);
       },
       {.capacity = 1});
  const int busy[] = {2};
  ASSERT_NE(group_->endpoint(0).stage(busy, 1), nullptr);
  group_->endpoint(0).post(busy, {99, 0, 0}, 1);
  start_all();
  EXPECT_EQ(advance(0), State::waiting);
  EXPECT_EQ(group_->endpoint(1).undelivered(), 0u);
  Message other;
  ASSERT_TRUE(group_->endpoint(2).find(0, {99, 0, 0}, &other));
  group_->endpoint(2).release(0, other);
  EXPECT_TRUE(finish_all());
  for (int r = 1; r < 3; ++r) EXPECT_EQ(at(r).out, at(0).in);
}

TEST_F(Engine, DirectSendsAreReadLateUnlessTakenAtOnce) {
  for (const bool take : {false, true}) {
    make(2, 2, 1,
         [&](Builder& builder, int rank) {
           send_to_1(builder, rank);
           if (rank == 0 && take) builder.take(0);
         },
         {.direct = true});
    start_all();
    EXPECT_EQ(advance(0), take ? State::done : State::moved);
    at(0).in = {8, 9};
    EXPECT_EQ(advance(1), State::done);
    if (take) {
      EXPECT_THAT(at(1).out, ElementsAre(0, 1));
    } else {
      EXPECT_THAT(at(1).out, ElementsAre(8, 9));
      EXPECT_EQ(advance(0), State::done);  // only now may the buffer be changed
    }
  }
}

TEST_F(Engine, ShortMessagesAreCopiedAlsoWhereTheyCouldBeSentDirectly) {
  make(2, 2, 1, send_to_1, {.direct = true});
  at(0).binding.direct_from = 9;
  start_all();
  EXPECT_EQ(advance(0), State::done);
}

TEST_F(Engine, SeveralChunksAreOneMessage) {
  make(2, 7, 3, [](Builder& builder, int rank) {
    if (rank == 0) builder.send(0, 1, input(0), 0, 3);
    if (rank == 1) builder.recv_reduce(0, 0, output(0), input(0), 0, 3, output(0));
  });
  slice(2, 2, 1);
  run();
  EXPECT_THAT(at(1).out, ElementsAre(100, 102, 104, 106, 108, 110, 112));
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
  group_->endpoint(0).enter(call, nullptr, 0);
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
