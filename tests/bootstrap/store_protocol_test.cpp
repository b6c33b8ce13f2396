#include "bootstrap/store_protocol.hpp"

#include <gtest/gtest.h>

namespace wia::store_protocol {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    char digits[4];
    snprintf(digits, sizeof digits, "%02x ", static_cast<uint8_t>(c));
    text += digits;
  }
  return text;
}

std::string_view body(const std::string& frame) { return std::string_view(frame).substr(4); }

// The worked example of docs/formats/store.md.
TEST(StoreProtocol, WorkedExample) {
  EXPECT_EQ(hex(opening(kClientMagic)), "57 49 41 0d 0a 0d 0a 01 ");
  EXPECT_EQ(hex(opening(kServerMagic)), "77 69 61 0d 0a 0d 0a 01 ");
  const Hello hello = {
      .world_size = 2, .rank = 1, .client = 0x0102030405060708, .job = "j7", .secret = "s3", .member = "a"};
  EXPECT_EQ(hex(encode(hello)),
            "21 00 00 00 02 00 00 00 01 00 00 00 08 07 06 05 04 03 02 01 02 00 00 00 6a 37 02 00 00 00 73 33 "
            "01 00 00 00 61 ");
  EXPECT_EQ(hex(encode(Reply())), "05 00 00 00 00 00 00 00 00 ");
  Request request;
  request.keys = {"k"};
  request.value = "v";
  EXPECT_EQ(hex(encode(request)), "0b 00 00 00 01 01 00 00 00 6b 01 00 00 00 76 ");
  request.operation = Operation::get_all;
  request.keys = {"k", "m"};
  request.timeout_ms = 1000;
  EXPECT_EQ(hex(encode(request)), "13 00 00 00 03 e8 03 00 00 02 00 00 00 01 00 00 00 6b 01 00 00 00 6d ");
  Reply late;
  late.answer = Answer::timeout;
  late.missing = {1};
  EXPECT_EQ(hex(encode(late)), "09 00 00 00 01 01 00 00 00 01 00 00 00 ");
}

TEST(StoreProtocol, WhatWasEncodedIsDecoded) {
  Request request;
  request.operation = Operation::add;
  request.keys = {"counter"};
  request.amount = -5;
  const auto decoded = decode_request(body(encode(request)));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->operation, Operation::add);
  EXPECT_EQ(decoded->keys, request.keys);
  EXPECT_EQ(decoded->amount, -5);

  Reply reply;
  reply.values = {"one", std::string("\0two", 4), ""};
  const auto values = decode_reply(body(encode(reply)));
  ASSERT_TRUE(values);
  EXPECT_EQ(values->values, reply.values);
}

std::vector<std::string> samples() {
  Hello hello;
  hello.job = "job";
  hello.secret = "secret";
  Request set;
  set.keys = {"key"};
  set.value = "value";
  Request get;
  get.operation = Operation::get_all;
  get.keys = {"a", "bc", "def"};
  Reply values;
  values.values = {"x", "yz"};
  return {encode(hello), encode(set), encode(get), encode(values)};
}

bool decodes(size_t kind, std::string_view bytes) {
  if (kind == 0) return decode_hello(bytes).has_value();
  if (kind == 3) return decode_reply(bytes).has_value();
  return decode_request(bytes).has_value();
}

TEST(StoreProtocol, EveryTruncationAndEveryExtraByteIsRefused) {
  const auto all = samples();
  for (size_t kind = 0; kind < all.size(); ++kind) {
    const std::string_view whole = body(all[kind]);
    EXPECT_TRUE(decodes(kind, whole));
    EXPECT_FALSE(decodes(kind, std::string(whole) + "x"));
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_FALSE(decodes(kind, whole.substr(0, size))) << kind << " " << size;
  }
}

TEST(StoreProtocol, DamagedBytesNeverReachBeyondTheFrame) {
  const auto all = samples();
  for (size_t kind = 0; kind < all.size(); ++kind)
    for (size_t at = 0; at < body(all[kind]).size(); ++at)
      for (const char value : {'\x00', '\x7f', '\xff'}) {
        std::string damaged(body(all[kind]));
        damaged[at] = value;
        decodes(kind, damaged);  // the sanitizers watch
      }
}

TEST(StoreProtocol, CountsBeyondTheFrameAllocateNothing) {
  EXPECT_FALSE(decode_reply(std::string("\0\x40\0\0\0", 5)));             // 64 values, none there
  EXPECT_FALSE(decode_reply(std::string("\0\xff\xff\xff\xff", 5)));       // 4 Gi values
  EXPECT_FALSE(decode_request(std::string("\3\0\0\0\0\0\0\0\0", 9)));     // get_all of nothing
  EXPECT_FALSE(decode_request(std::string("\1\xff\xff\xff\xffkey", 8)));  // a key of 4 GiB
}

}  // namespace
}  // namespace wia::store_protocol
