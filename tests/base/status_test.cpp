#include "base/status.hpp"

#include <gtest/gtest.h>

namespace wia {
namespace {

TEST(Status, SuccessHasNoText) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::ok);
  EXPECT_EQ(status.text(), "");
}

TEST(Status, ErrorCarriesCodeAndText) {
  const Status status = Status::error(Code::timeout, "rank {} of {} is missing", 2, 3);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::timeout);
  EXPECT_EQ(status.text(), "rank 2 of 3 is missing");
}

TEST(Status, CopyIsEqualAndIndependent) {
  Status first = Status::error(Code::busy, "busy");
  const Status second = first.copy();
  first = Status();
  EXPECT_EQ(second.code(), Code::busy);
  EXPECT_EQ(second.text(), "busy");
}

TEST(Status, EveryCodeHasItsOwnName) {
  EXPECT_STREQ(code_name(Code::ok), "success");
  EXPECT_STREQ(code_name(Code::peer_failed), "peer failed");
  EXPECT_STREQ(code_name(static_cast<Code>(77)), "unknown status");
}

TEST(Result, HoldsAValueOrAStatus) {
  Result<std::string> good = std::string("value");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, "value");
  EXPECT_EQ(good->size(), 5u);

  Result<std::string> bad = Status::error(Code::system, "no");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.take_status().text(), "no");
}

Status fails_in_the_middle(bool& went_on) {
  WIA_RETURN_IF_ERROR(Status());
  WIA_RETURN_IF_ERROR(Status::error(Code::protocol, "first"));
  went_on = true;
  return {};
}

TEST(Status, ReturnIfErrorLeavesWithTheFirstError) {
  bool went_on = false;
  EXPECT_EQ(fails_in_the_middle(went_on).text(), "first");
  EXPECT_FALSE(went_on);
}

}  // namespace
}  // namespace wia
