// The worked example of docs/formats/frames.md.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>

#include "transport/frame.hpp"
#include "transport/network_handshake.hpp"

namespace wia {
namespace {

template <class Part>
std::string bytes_of(const Part& part) {
  std::string text;
  const auto* at = reinterpret_cast<const unsigned char*>(&part);
  for (size_t i = 0; i < sizeof part; ++i) text += fmt::format("{}{:02x}", i ? " " : "", at[i]);
  return text;
}

TEST(Frames, HandshakeIsAsDocumented) {
  const HashKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  Challenge challenge;
  challenge.nonce[0] = 0x1111111111111111, challenge.nonce[1] = 0x2222222222222222;
  EXPECT_EQ(bytes_of(challenge), "57 49 41 4e 01 00 00 00 11 11 11 11 11 11 11 11 22 22 22 22 22 22 22 22");
  Hello hello;
  hello.communicator = 0x0123456789abcdef;
  hello.from = 0, hello.to = 1;
  hello.nonce[0] = 0x3333333333333333, hello.nonce[1] = 0x4444444444444444;
  std::strcpy(hello.nic, "eth0");
  hello.proof = prove(hello, challenge, key);
  EXPECT_EQ(bytes_of(hello),
            "57 49 41 4e 01 00 00 00 ef cd ab 89 67 45 23 01 00 00 00 00 01 00 00 00 "
            "33 33 33 33 33 33 33 33 44 44 44 44 44 44 44 44 "
            "65 74 68 30 00 00 00 00 00 00 00 00 00 00 00 00 22 ab 64 8e f0 b7 7f 83");
  Reply reply;
  reply.answer = Reply::welcome;
  reply.proof = prove(reply, hello, key);
  EXPECT_EQ(bytes_of(reply), "57 49 41 4e 01 00 00 00 40 9e d6 95 fe 89 f0 f3");
}

TEST(Frames, AMessageIsAsDocumented) {
  FrameHeader header;
  header.bytes = 8;
  header.kind = FrameKind::data;
  header.key = {7, 0, 3};
  header.signature = 0xaabbccdd;
  header.messages_taken = 2;
  EXPECT_EQ(bytes_of(header),
            "08 00 00 00 02 00 00 00 07 00 00 00 00 00 00 00 "
            "03 00 00 00 dd cc bb aa 02 00 00 00 00 00 00 00");
}

}  // namespace
}  // namespace wia
