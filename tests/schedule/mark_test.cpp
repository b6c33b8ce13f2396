// What Builder::finish() marks, and the text form in which the tests see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "schedule/schedule.hpp"

namespace wia {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Shape all_reduce_of(int ranks, int rank) {
  Shape shape;
  shape.ranks = ranks;
  shape.rank = rank;
  return shape;
}

std::string text_of(Builder&& builder) {
  auto schedule = std::move(builder).finish();
  return schedule.ok() ? schedule->text() : schedule.status().text();
}

TEST(Groups, FormFromConsecutiveSendsOfOneSource) {
  Builder builder(all_reduce_of(5, 0), 2);
  builder.send(0, 1, input(0), 0);
  builder.send(0, 2, input(0), 0);
  builder.send(0, 3, input(0), 1);  // another tag
  builder.send(0, 1, input(1), 2);  // another chunk
  builder.send(0, 2, input(1), 2);
  builder.send(0, 4, input(1), 2);
  EXPECT_EQ(text_of(std::move(builder)),
            "lane 0: send input[0] -> rank 1  tag 0  group of 2\n"
            "lane 0: send input[0] -> rank 2  tag 0  joined\n"
            "lane 0: send input[0] -> rank 3  tag 1\n"
            "lane 0: send input[1] -> rank 1  tag 2  group of 3\n"
            "lane 0: send input[1] -> rank 2  tag 2  joined\n"
            "lane 0: send input[1] -> rank 4  tag 2  joined\n");
}

TEST(Groups, AWaitStartsANewOne) {
  Builder builder(all_reduce_of(4, 0), 2);
  builder.recv(1, 1, output(1), 0);
  builder.send(0, 1, input(0), 0);
  builder.wait(0, 1, 1);
  builder.send(0, 2, input(0), 0);
  builder.send(0, 3, input(0), 0);
  EXPECT_EQ(text_of(std::move(builder)),
            "lane 0: send input[0] -> rank 1  tag 0\n"
            "lane 0: send input[0] -> rank 2  tag 0  group of 2  after 1 steps of lane 1\n"
            "lane 0: send input[0] -> rank 3  tag 0  joined\n"
            "lane 1: recv output[1] <- rank 1  tag 0\n");
}

TEST(Groups, TakeAllOrNone) {
  Builder builder(all_reduce_of(4, 0));
  builder.send(0, 1, input(0), 0);
  builder.send(0, 2, input(0), 0);
  builder.take(0);
  builder.send(0, 3, input(0), 0);
  builder.take(0);
  const Schedule schedule = *std::move(builder).finish();
  EXPECT_EQ(schedule.lane(0)[0].fused, 1);
  EXPECT_EQ(schedule.lane(0)[1].fused, 2);
  EXPECT_EQ(schedule.lane(0)[2].flags, kTake);
}

TEST(FusedReduction, TakesTheGroupBehindIt) {
  Builder builder(all_reduce_of(3, 0), 3);
  const uint32_t area = builder.allocate_scratch(2);
  builder.recv(0, 1, scratch(area), 0, 1, input(0));
  builder.recv(0, 2, scratch(area + 1), 0, 1, input(0));
  const std::vector<Ref> sources = {input(0), scratch(area), scratch(area + 1)};
  builder.reduce(0, output(0), sources, output(0));
  builder.send(0, 1, output(0), 1);
  builder.send(0, 2, output(0), 1);
  auto schedule = std::move(builder).finish();
  ASSERT_TRUE(schedule.ok()) << schedule.status().text();
  EXPECT_EQ(schedule->max_fused(), 2u);
  EXPECT_EQ(schedule->max_sources(), 3u);
  EXPECT_TRUE(schedule->has_views());
  EXPECT_EQ(schedule->text(),
            "lane 0: recv scratch[0] <- rank 1  tag 0  sized input[0]  view\n"
            "lane 0: recv scratch[1] <- rank 2  tag 0  sized input[0]  view\n"
            "lane 0: reduce output[0] <- input[0], scratch[0], scratch[1]  and 2 sends\n"
            "lane 0: send output[0] -> rank 1  tag 1  joined\n"
            "lane 0: send output[0] -> rank 2  tag 1  joined\n");
}

TEST(FusedReduction, OfAReceivedSum) {
  Builder builder(all_reduce_of(3, 0), 3);
  const uint32_t area = builder.allocate_scratch(1);
  builder.recv_reduce(0, 2, partial(area), input(1), 4, 1, input(1), Format::partial);
  builder.send(0, 1, partial(area), 4, 1, input(1));
  EXPECT_EQ(text_of(std::move(builder)),
            "lane 0: recv_reduce partial[0] <- rank 2 partial, input[1]  tag 4  sized input[1]  and 1 sends\n"
            "lane 0: send partial[0] -> rank 1  tag 4  sized input[1]  joined\n");
}

TEST(FusedReduction, NotOfOtherDataNorAcrossAWait) {
  Builder other(all_reduce_of(3, 0), 2);
  other.recv_reduce(0, 2, output(0), input(0), 4, 1, input(0));
  other.send(0, 1, output(1), 4);
  EXPECT_THAT(text_of(std::move(other)), Not(HasSubstr("sends")));

  Builder waits(all_reduce_of(3, 0), 2);
  waits.recv(1, 1, output(1), 0);
  waits.recv_reduce(0, 2, output(0), input(0), 4, 1, output(0));
  waits.wait(0, 1, 1);
  waits.send(0, 1, output(0), 4);
  EXPECT_THAT(text_of(std::move(waits)), Not(HasSubstr("sends")));
}

TEST(FusedReduction, OfSeveralChunks) {
  Builder builder(all_reduce_of(3, 0), 4);
  const uint32_t area = builder.allocate_scratch(2);
  builder.recv(0, 1, scratch(area), 0, 2, input(1));
  const std::vector<Ref> sources = {input(1), scratch(area)};
  builder.reduce(0, output(1), sources, output(1), 2);
  builder.send(0, 2, output(1), 1, 2);
  EXPECT_EQ(text_of(std::move(builder)),
            "lane 0: recv scratch[0..1] <- rank 1  tag 0  sized input[1..2]\n"
            "lane 0: reduce output[1..2] <- input[1..2], scratch[0..1]  and 1 sends\n"
            "lane 0: send output[1..2] -> rank 2  tag 1  joined\n");
}

// One rank's reduce of what two peers send, with room for a mistake in between.
class Views : public ::testing::Test {
 protected:
  void receive(int lane = 0) {
    builder_.recv(lane, 1, scratch(area_), 0, 1, input(0));
    builder_.recv(lane, 2, scratch(area_ + 1), 0, 1, input(0));
  }
  void reduce(int lane = 0) {
    const std::vector<Ref> sources = {input(0), scratch(area_), scratch(area_ + 1)};
    builder_.reduce(lane, output(0), sources, output(0));
  }
  // Whether the chunks from rank 1 and rank 2 are views: "11", "01"...
  std::string views() {
    auto schedule = std::move(builder_).finish();
    if (!schedule.ok()) return schedule.status().text();
    std::string marks(2, '0');
    for (int l = 0; l < schedule->lanes(); ++l) {
      for (const Step& step : schedule->lane(l)) {
        if (step.kind == Kind::recv && step.tag == 0 && (step.flags & kView)) marks[step.peer - 1] = '1';
      }
    }
    return marks;
  }
  Builder builder_{all_reduce_of(4, 0), 2};
  uint32_t area_ = builder_.allocate_scratch(3);
};

TEST_F(Views, SendsInBetweenAreFine) {
  receive();
  builder_.send(0, 3, input(0), 0);
  reduce();
  EXPECT_EQ(views(), "11");
}

TEST_F(Views, NotWhatIsAlsoSent) {
  receive();
  builder_.send(0, 3, scratch(area_), 0, 1, input(0));
  reduce();
  EXPECT_EQ(views(), "01");
}

TEST_F(Views, NotWhatIsReadTwice) {
  receive();
  const std::vector<Ref> once_more = {scratch(area_ + 1)};
  builder_.reduce(0, output(1), once_more, output(0));
  reduce();
  EXPECT_EQ(views(), "10");
}

TEST_F(Views, NotWhatIsWrittenTwice) {
  receive();
  reduce();
  builder_.copy(0, scratch(area_ + 1), input(0), 1, input(0));
  EXPECT_EQ(views(), "10");
}

TEST_F(Views, NotAPartOfALargerMessage) {
  builder_.recv(0, 1, scratch(area_), 0, 2, input(0));
  reduce();
  EXPECT_EQ(views(), "00");
}

TEST_F(Views, NotFromAnotherLane) {
  receive(1);
  builder_.wait(0, 1, 2);
  reduce(0);
  EXPECT_EQ(views(), "00");
}

TEST_F(Views, NotBeforeAnotherMessageOfThePeer) {
  receive();
  builder_.recv(0, 1, scratch(area_ + 2), 1, 1, input(0));
  reduce();
  EXPECT_EQ(views(), "01");
}

TEST(ManyViews, TheNearestToTheReduceAreTaken) {
  constexpr int kRanks = 100;
  Builder builder(all_reduce_of(kRanks, 0));
  const uint32_t area = builder.allocate_scratch(kRanks - 1);
  std::vector<Ref> sources = {input(0)};
  for (int peer = 1; peer < kRanks; ++peer) {
    builder.recv(0, peer, scratch(area + peer - 1), 0, 1, input(0));
    sources.push_back(scratch(area + peer - 1));
  }
  builder.reduce(0, output(0), sources, output(0));
  auto schedule = std::move(builder).finish();
  ASSERT_TRUE(schedule.ok());
  for (int i = 0; i < kRanks - 1; ++i) {
    const bool near = i >= kRanks - 1 - static_cast<int>(Builder::kMaxViews);
    EXPECT_EQ((schedule->lane(0)[i].flags & kView) != 0, near) << i;
  }
}

TEST(Text, RangesAndMessagesWithoutData) {
  Shape shape;
  shape.collective = Collective::all_gather;
  shape.ranks = 4;
  Builder builder(shape);
  builder.copy(0, output(0), input(0), 1, input(0));
  builder.send(0, 2, output(0), 3, 2);
  builder.send(0, 3, Ref(), 9, 0);
  EXPECT_EQ(text_of(std::move(builder)),
            "lane 0: copy output[0] <- input[0]\n"
            "lane 0: send output[0..1] -> rank 2  tag 3\n"
            "lane 0: send nothing -> rank 3  tag 9\n");
}

}  // namespace
}  // namespace wia
