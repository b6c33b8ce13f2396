// What the loop has beside what holds for every transport (transport_test.cpp).
#include <numeric>

#include "transport/transports.hpp"

namespace wia {
namespace {

class Loop : public testing::Test {
 protected:
  void make(int ranks, const LoopOptions& options = {}) {
    group_ = std::make_unique<LoopGroup>(ranks, options);
    for (int r = 0; r < ranks; ++r) at(r).enter(call_number(1), {}, nullptr, 0);
  }
  LoopEndpoint& at(int rank) { return group_->endpoint(rank); }

  std::unique_ptr<LoopGroup> group_;
};

TEST_F(Loop, MoreThanTheCapacityIsNotNow) {
  make(3, {.capacity = 2});
  ASSERT_TRUE(send(at(0), {1}, {1, 0, 0}, "a"));
  ASSERT_TRUE(send(at(0), {1}, {1, 0, 1}, "b"));
  EXPECT_FALSE(at(0).can_post(1));
  EXPECT_FALSE(send(at(0), {1}, {1, 0, 2}, "c"));
  EXPECT_FALSE(send(at(0), {2, 1}, {1, 0, 2}, "c"));
  const int one[] = {1};
  const std::byte data{};
  EXPECT_FALSE(at(0).post_direct(one, {1, 0, 2}, &data, 1));
  EXPECT_FALSE(at(0).post_landed(1, {1, 0, 2}, &data, 1));
  EXPECT_TRUE(send(at(0), {2}, {1, 0, 2}, "to others"));
  EXPECT_TRUE(send(at(1), {0}, {1, 0, 2}, "the other way"));
  EXPECT_EQ(receive(at(1), 0, {1, 0, 1}), "b");
  EXPECT_TRUE(send(at(0), {1}, {1, 0, 2}, "c"));
}

TEST_F(Loop, InOrderOnlyTheOldestMakesRoom) {
  make(2, {.capacity = 2, .in_order = true});
  send(at(0), {1}, {1, 0, 0}, "a");
  send(at(0), {1}, {1, 0, 1}, "b");
  receive(at(1), 0, {1, 0, 1});
  EXPECT_FALSE(at(0).can_post(1));
  receive(at(1), 0, {1, 0, 0});
  EXPECT_TRUE(send(at(0), {1}, {1, 0, 2}, "c"));
  EXPECT_TRUE(send(at(0), {1}, {1, 0, 3}, "d"));
  EXPECT_FALSE(at(0).can_post(1));
}

TEST_F(Loop, APeerInAnotherCallIsSeenByItsSignature) {
  make(2);
  at(0).enter(call_number(2, 8), {}, nullptr, 0);
  at(1).enter(call_number(2, 9), {}, nullptr, 0);
  const Message message = find(at(0), 1, {2, 0, 0});
  EXPECT_NE(message.data, nullptr);
  EXPECT_EQ(message.signature, 9u);
}

TEST_F(Loop, ShowsNoMoreMessagesThanAllowed) {
  make(2);
  for (uint32_t tag = 0; tag < 3; ++tag) send(at(0), {1}, {1, 0, tag}, "a");
  at(1).allow(1);
  EXPECT_EQ(receive(at(1), 0, {1, 0, 9}), "nothing");
  EXPECT_EQ(receive(at(1), 0, {1, 0, 0}), "a");
  EXPECT_EQ(receive(at(1), 0, {1, 0, 1}), "nothing");
  at(1).allow(LoopEndpoint::kUnlimited);
  EXPECT_EQ(receive(at(1), 0, {1, 0, 1}), "a");
  EXPECT_EQ(receive(at(1), 0, {1, 0, 2}), "a");
}

TEST_F(Loop, SendsNoMoreMessagesThanAllowedButGroupsAsAWhole) {
  make(4);
  at(0).allow_sends(2);
  EXPECT_TRUE(send(at(0), {1}, {1, 0, 0}, "a"));
  EXPECT_TRUE(send(at(0), {1, 2, 3}, {1, 0, 1}, "b"));
  EXPECT_FALSE(at(0).can_post(1));
  EXPECT_FALSE(send(at(0), {1}, {1, 0, 2}, "c"));
  at(0).allow_sends(LoopEndpoint::kUnlimited);
  EXPECT_TRUE(send(at(0), {1}, {1, 0, 2}, "c"));
}

TEST_F(Loop, AllPairsOf500RanksAtOnce) {
  constexpr int kRanks = 500;
  make(kRanks);
  std::vector<int> all(kRanks);
  std::iota(all.begin(), all.end(), 0);
  for (uint32_t tag = 0; tag < 2; ++tag)
    for (int from = 0; from < kRanks; ++from)
      ASSERT_TRUE(send(at(from), all, {1, 0, tag}, std::to_string(from + 1)));
  EXPECT_EQ(group_->undelivered(), size_t{2} * kRanks * kRanks);
  for (int to = 0; to < kRanks; ++to)
    for (int from = kRanks; from-- > 0;)
      for (const uint32_t tag : {1u, 0u})
        ASSERT_EQ(receive(at(to), from, {1, 0, tag}), std::to_string(from + 1));
  EXPECT_EQ(group_->undelivered(), 0u);
}

TEST_F(Loop, WithoutOptionsNothingIsSentWithoutACopy) {
  make(2);
  std::byte memory[4];
  EXPECT_FALSE(at(0).can_send_direct(std::vector{1}, memory, 4));
  EXPECT_LT(at(0).locate(1, memory, 4), 0);
}

}  // namespace
}  // namespace wia
