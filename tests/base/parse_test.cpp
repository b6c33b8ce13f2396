#include "base/parse.hpp"

#include <gtest/gtest.h>

namespace wia {
namespace {

TEST(ParseInteger, ReadsTheWholeText) {
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-17"), -17);
  EXPECT_EQ(parse_integer("+17"), 17);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  for (const char* bad : {"", " 1", "1 ", "1x", "0x10", "1.0", "+-1", "+", "9223372036854775808"})
    EXPECT_FALSE(parse_integer(bad)) << bad;
}

TEST(ParseSize, UnitsArePowersOf1024) {
  EXPECT_EQ(parse_size("8"), 8u);
  EXPECT_EQ(parse_size("8B"), 8u);
  EXPECT_EQ(parse_size("64K"), 64u << 10);
  EXPECT_EQ(parse_size("64k"), 64u << 10);
  EXPECT_EQ(parse_size("1MiB"), 1u << 20);
  EXPECT_EQ(parse_size("2MB"), 2u << 20);
  EXPECT_EQ(parse_size("1.5G"), 3ull << 29);
  EXPECT_EQ(parse_size("1T"), 1ull << 40);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* bad : {"", "-1", "8XB", "8BB", "K", "1.3", "1e3", "inf", "1..5K", "8 K", "9000000000T"})
    EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(ParseSeconds, GivesMilliseconds) {
  EXPECT_EQ(parse_seconds("10"), 10'000);
  EXPECT_EQ(parse_seconds("0.5"), 500);
  EXPECT_EQ(parse_seconds("0.0001"), 1);
  for (const char* bad : {"", "-1", "1s", "nan", "1e3", "."}) EXPECT_FALSE(parse_seconds(bad)) << bad;
}

}  // namespace
}  // namespace wia
