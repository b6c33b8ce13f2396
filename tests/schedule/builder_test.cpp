// The structural checks of Builder::finish(), and the facts it counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/schedule.hpp"

namespace wia {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Shape shape_of(Collective collective, int ranks, int rank, int root = 0) {
  Shape shape;
  shape.collective = collective;
  shape.ranks = ranks;
  shape.rank = rank;
  shape.root = root;
  return shape;
}

std::string error_of(Builder&& builder) {
  auto schedule = std::move(builder).finish();
  return schedule.ok() ? "" : schedule.status().text();
}

TEST(Collectives, NamesParseBothWays) {
  for (int i = 0; i < kNumCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    EXPECT_EQ(parse_collective(name_of(collective)), collective);
  }
  EXPECT_EQ(parse_collective("allreduce"), Collective::all_reduce);
  EXPECT_EQ(parse_collective("alltoall"), Collective::all_to_all);
  EXPECT_EQ(parse_collective("allre_duce"), std::nullopt);
}

TEST(Builder, KeepsLanesInOrder) {
  Builder builder(shape_of(Collective::all_reduce, 3, 0), 2);
  EXPECT_EQ(builder.position(1), 0u);
  builder.recv(1, 2, output(1), 7);
  builder.send(0, 1, input(0), 3);
  EXPECT_EQ(builder.position(1), 1u);
  builder.wait(0, 1, 1);
  builder.send(0, 2, output(1), 3);
  const Schedule schedule = *std::move(builder).finish();
  ASSERT_EQ(schedule.lanes(), 2);
  ASSERT_EQ(schedule.lane(0).size(), 2u);
  EXPECT_EQ(schedule.lane(0)[1].wait_lane, 1);
  EXPECT_EQ(schedule.lane(0)[1].wait_position, 1u);
  EXPECT_EQ(schedule.lane(1)[0].kind, Kind::recv);
  EXPECT_EQ(schedule.input_chunks(), 2u);
  EXPECT_EQ(schedule.output_chunks(), 2u);
}

TEST(Builder, EmptyScheduleHasNoLanes) {
  const Schedule schedule = *Builder(shape_of(Collective::barrier, 1, 0)).finish();
  EXPECT_EQ(schedule.lanes(), 0);
  EXPECT_EQ(schedule.text(), "");
}

TEST(Builder, SecondWaitGoesOnANop) {
  Builder builder(shape_of(Collective::all_reduce, 2, 0));
  builder.recv(1, 1, output(0), 0);
  builder.recv(2, 1, output(0), 1);
  builder.wait(0, 1, 1);
  builder.wait(0, 2, 1);
  builder.send(0, 1, input(0), 0);
  const Schedule schedule = *std::move(builder).finish();
  ASSERT_EQ(schedule.lane(0).size(), 2u);
  EXPECT_EQ(schedule.lane(0)[0].kind, Kind::nop);
  EXPECT_EQ(schedule.lane(0)[0].wait_lane, 1);
  EXPECT_EQ(schedule.lane(0)[1].wait_lane, 2);
}

TEST(Builder, WaitForNothingIsNone) {
  Builder builder(shape_of(Collective::all_reduce, 2, 0));
  builder.wait(0, 1, 0);
  builder.send(0, 1, input(0), 0);
  EXPECT_EQ(std::move(builder).finish()->lane(0)[0].wait_position, 0u);
}

TEST(Builder, WaitThatNothingFollowsIsNone) {
  Builder builder(shape_of(Collective::all_reduce, 2, 0));
  builder.recv(1, 1, output(0), 0);
  builder.wait(0, 1, 1);
  const Schedule schedule = *std::move(builder).finish();
  ASSERT_EQ(schedule.lanes(), 1);
  EXPECT_EQ(schedule.lane(0)[0].kind, Kind::recv);
}

TEST(Builder, LanesWithoutStepsAreLeftOut) {
  Builder builder(shape_of(Collective::all_reduce, 2, 0));
  builder.recv(3, 1, output(0), 0);
  builder.wait(5, 3, 1);
  builder.send(5, 1, output(0), 0);
  const Schedule schedule = *std::move(builder).finish();
  ASSERT_EQ(schedule.lanes(), 2);
  EXPECT_EQ(schedule.lane(0)[0].kind, Kind::recv);
  EXPECT_EQ(schedule.lane(1)[0].wait_lane, 0);
  EXPECT_EQ(schedule.lane(1)[0].wait_position, 1u);
}

TEST(Check, ChunksExist) {
  Builder builder(shape_of(Collective::all_gather, 4, 0));
  builder.send(0, 1, input(1), 0);
  EXPECT_THAT(error_of(std::move(builder)), HasSubstr("input[1] of 1 chunks"));

  Builder many(shape_of(Collective::all_gather, 4, 0));
  many.recv(0, 1, output(2), 0, 3);
  EXPECT_THAT(error_of(std::move(many)), HasSubstr("output[2..4] of 4 chunks"));

  Builder scratch_too_small(shape_of(Collective::all_reduce, 4, 0));
  scratch_too_small.recv(0, 1, scratch(scratch_too_small.allocate_scratch(2) + 2), 0, 1, input(0));
  EXPECT_THAT(error_of(std::move(scratch_too_small)), HasSubstr("scratch[2] of 2 chunks"));
}

TEST(Check, OnlyTheRootHasItsBuffers) {
  Builder reduce(shape_of(Collective::reduce, 4, 1, 0));
  reduce.recv(0, 0, output(0), 0);
  EXPECT_THAT(error_of(std::move(reduce)), HasSubstr("output[0] of 0 chunks"));

  Builder broadcast(shape_of(Collective::broadcast, 4, 1, 0));
  broadcast.send(0, 0, input(0), 0);
  EXPECT_THAT(error_of(std::move(broadcast)), HasSubstr("input[0] of 0 chunks"));
}

TEST(Check, LengthsAreKnownEverywhere) {
  Builder gather(shape_of(Collective::gather, 4, 1, 0));
  const uint32_t area = gather.allocate_scratch(2);
  gather.recv(0, 2, scratch(area), 0, 2, output(2));
  EXPECT_EQ(error_of(std::move(gather)), "");
}

TEST(Check, MistakesOfASingleStep) {
  Builder writes_input(shape_of(Collective::all_reduce, 4, 0));
  writes_input.recv(0, 1, input(0), 0);
  EXPECT_THAT(error_of(std::move(writes_input)), HasSubstr("writes input[0]"));

  Builder to_itself(shape_of(Collective::all_reduce, 4, 2));
  to_itself.send(0, 2, input(0), 0);
  EXPECT_THAT(error_of(std::move(to_itself)), HasSubstr("peer 2 of 4 ranks"));

  Builder partial_output(shape_of(Collective::all_reduce, 4, 0));
  partial_output.recv(0, 1, Ref(Buffer::output, 0, true), 0, 1, output(0));
  EXPECT_THAT(error_of(std::move(partial_output)), HasSubstr("only scratch may"));

  Builder no_sources(shape_of(Collective::all_reduce, 4, 0));
  no_sources.reduce(0, output(0), {}, output(0));
  EXPECT_THAT(error_of(std::move(no_sources)), HasSubstr("0 sources"));

  Builder large_tag(shape_of(Collective::all_reduce, 4, 0));
  large_tag.send(0, 1, input(0), 65536);
  EXPECT_THAT(error_of(std::move(large_tag)), HasSubstr("tag 65536"));

  Builder no_length(shape_of(Collective::all_reduce, 4, 0));
  const uint32_t area = no_length.allocate_scratch(1);
  no_length.recv(0, 1, scratch(area), 0);
  EXPECT_THAT(error_of(std::move(no_length)), HasSubstr("scratch has no length"));
}

TEST(Check, TagsOfAPairDiffer) {
  Builder builder(shape_of(Collective::all_reduce, 4, 0), 2);
  builder.send(0, 1, input(0), 5);
  builder.send(1, 2, input(0), 5);
  builder.recv(2, 1, output(0), 5);
  builder.send(3, 1, input(1), 5);
  EXPECT_THAT(error_of(std::move(builder)), HasSubstr("two messages to rank 1 have tag 5"));
}

TEST(Check, LanesThatWaitForOneAnother) {
  Builder circle(shape_of(Collective::all_reduce, 3, 0), 2);
  circle.wait(0, 1, 1);
  circle.send(0, 1, input(0), 0);
  circle.wait(1, 0, 1);
  circle.send(1, 2, input(0), 0);
  EXPECT_THAT(error_of(std::move(circle)), HasSubstr("lane 0, step 0 waits for ever for 1 steps of lane 1"));

  Builder itself(shape_of(Collective::all_reduce, 3, 0), 2);
  itself.wait(0, 0, 1);
  itself.send(0, 1, input(0), 0);
  EXPECT_THAT(error_of(std::move(itself)), HasSubstr("waits for ever"));

  Builder too_late(shape_of(Collective::all_reduce, 3, 0), 2);
  too_late.recv(1, 1, output(0), 0);
  too_late.wait(0, 1, 2);
  too_late.send(0, 1, input(0), 0);
  EXPECT_THAT(error_of(std::move(too_late)), HasSubstr("a wait for 2 steps of lane 1, which has 1"));
}

TEST(Summary, MaximaAndSilentPeers) {
  Builder builder(shape_of(Collective::all_to_all, 6, 0));
  builder.send(0, 5, input(2), 0, 3);
  builder.send(0, 1, input(1), 0);
  builder.send(0, 3, input(3), 0);
  builder.recv(1, 3, output(3), 0);
  builder.recv(1, 4, output(4), 0);
  const Schedule schedule = *std::move(builder).finish();
  EXPECT_EQ(schedule.max_message_chunks(), 3u);
  EXPECT_EQ(schedule.max_fused(), 1u);
  EXPECT_EQ(schedule.max_sources(), 0u);
  EXPECT_FALSE(schedule.has_views());
  EXPECT_THAT(schedule.silent_peers(), ElementsAre(1, 5));
}

}  // namespace
}  // namespace wia
