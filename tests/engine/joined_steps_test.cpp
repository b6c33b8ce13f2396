// The engine, rank by rank: what is done without copies or in one step: views, groups, fused reductions,
// direct sends, several chunks.
#include <gmock/gmock.h>

#include "engine/engine.hpp"

namespace wia {
namespace {

using testing::ElementsAre;

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

}  // namespace
}  // namespace wia
