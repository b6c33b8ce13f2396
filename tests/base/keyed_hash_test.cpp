#include "base/keyed_hash.hpp"

#include <gtest/gtest.h>

namespace wia {
namespace {

// The example in the paper's appendix A: key 00 01 .. 0f, message 00 01 .. 0e.
TEST(KeyedHash, GivesThePapersExample) {
  unsigned char message[15];
  for (unsigned char i = 0; i < 15; ++i) message[i] = i;
  const HashKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(KeyedHash(key)(message, sizeof message), 0xa129ca6149be45e5u);
}

TEST(KeyedHash, DependsOnKeyAndLength) {
  const char message[16] = {};
  const uint64_t hash = KeyedHash({1, 2})(message, 8);
  EXPECT_NE(hash, KeyedHash({1, 3})(message, 8));
  EXPECT_NE(hash, KeyedHash({1, 2})(message, 9));
}

}  // namespace
}  // namespace wia
