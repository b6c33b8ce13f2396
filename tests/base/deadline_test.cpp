#include "base/deadline.hpp"

#include <gtest/gtest.h>

namespace wia {
namespace {

TEST(Deadline, NeverDoesNotPass) {
  EXPECT_TRUE(Deadline::never().is_never());
  EXPECT_FALSE(Deadline::never().passed());
  EXPECT_EQ(Deadline::never().left_ms(77), 77);
}

TEST(Deadline, NegativeAndHugeMeanNever) {
  EXPECT_TRUE(Deadline::after_ms(-1).is_never());
  EXPECT_TRUE(Deadline::after_ms(std::numeric_limits<int64_t>::max()).is_never());
}

TEST(Deadline, ZeroHasPassed) {
  const Deadline deadline = Deadline::after_ms(0);
  EXPECT_TRUE(deadline.passed());
  EXPECT_EQ(deadline.left_ms(), 0);
}

TEST(Deadline, CountsDownOnTheGivenClock) {
  const int64_t before = now_ns();
  const Deadline deadline = Deadline::after_ms(1000);
  EXPECT_FALSE(deadline.passed(before + 999'000'000));
  EXPECT_TRUE(deadline.passed(now_ns() + 1'000'000'000));
  EXPECT_LE(deadline.left_ms(), 1000);
  EXPECT_EQ(deadline.left_ms(5), 5);
}

TEST(Deadline, LeftIsRoundedUpSoThatPollDoesNotSpin) {
  const Deadline deadline = Deadline::after_ms(1);
  while (!deadline.passed()) ASSERT_TRUE(deadline.left_ms() >= 1 || deadline.passed());
}

TEST(Deadline, EarlierPicksTheNearer) {
  const Deadline near = Deadline::after_ms(10), far = Deadline::after_ms(1000);
  EXPECT_EQ(near.earlier(far).at_ns(), near.at_ns());
  EXPECT_EQ(far.earlier(near).at_ns(), near.at_ns());
  EXPECT_EQ(Deadline::never().earlier(near).at_ns(), near.at_ns());
}

}  // namespace
}  // namespace wia
