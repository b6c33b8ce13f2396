#include "transport/loop.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace wia {
namespace {

CallSignature call_number(uint64_t sequence, uint32_t hash = 7) {
  CallSignature call;
  call.sequence = sequence;
  call.hash = hash;
  return call;
}

class Loop : public testing::Test {
 protected:
  void make(int ranks, const LoopOptions& options = {}) {
    group_ = std::make_unique<LoopGroup>(ranks, options);
    for (int r = 0; r < ranks; ++r) at(r).enter(call_number(1), nullptr, 0);
  }
  LoopEndpoint& at(int rank) { return group_->endpoint(rank); }

  bool send(int from, std::vector<int> to, Key key, const std::string& text) {
    std::byte* place = at(from).stage(to, text.size());
    if (!place) return false;
    std::memcpy(place, text.data(), text.size());
    at(from).post(to, key, text.size());
    return true;
  }
  static std::string text_of(const Message& message) {
    return message.data ? std::string(reinterpret_cast<const char*>(message.data), message.bytes) : "nothing";
  }
  Message find(int at_rank, int from, Key key) {
    Message message;
    at(at_rank).find(from, key, &message);
    return message;
  }
  std::string receive(int at_rank, int from, Key key) {
    const Message message = find(at_rank, from, key);
    std::string text = text_of(message);
    if (message.data) at(at_rank).release(from, message);
    return text;
  }

  std::unique_ptr<LoopGroup> group_;
};

const std::string kLong(1000, 'x');

TEST_F(Loop, MessagesAreFoundByKeyInAnyOrder) {
  make(3);
  ASSERT_TRUE(send(0, {1}, {1, 0, 5}, "first"));
  ASSERT_TRUE(send(0, {1}, {1, 0, 6}, "second"));
  ASSERT_TRUE(send(0, {1}, {1, 1, 5}, kLong));
  ASSERT_TRUE(send(2, {1}, {1, 0, 5}, "from 2"));
  EXPECT_EQ(receive(1, 0, {1, 1, 5}), kLong);
  EXPECT_EQ(receive(1, 0, {1, 0, 6}), "second");
  EXPECT_EQ(receive(1, 2, {1, 0, 5}), "from 2");
  EXPECT_EQ(receive(1, 0, {1, 0, 7}), "nothing");
  EXPECT_EQ(receive(1, 0, {2, 0, 5}), "nothing");
  EXPECT_EQ(receive(1, 0, {1, 0, 5}), "first");
  EXPECT_EQ(receive(1, 0, {1, 0, 5}), "nothing");
  EXPECT_EQ(group_->undelivered(), 0u);
}

TEST_F(Loop, AMessageStaysWhereItIsUntilReleased) {
  make(2);
  send(0, {1}, {1, 0, 0}, "held");
  const Message held = find(1, 0, {1, 0, 0});
  for (uint32_t tag = 1; tag < 16; ++tag) send(0, {1}, {1, 0, tag}, "others");  // the table grows
  EXPECT_EQ(text_of(held), "held");
  EXPECT_EQ(text_of(find(1, 0, {1, 0, 0})), "held");
  EXPECT_EQ(held.signature, 7u);
}

TEST_F(Loop, AGroupGetsTheSameData) {
  make(4);
  for (const std::string& text : {std::string("short"), kLong}) {
    ASSERT_TRUE(send(0, {1, 2, 3}, {1, 0, 0}, text));
    EXPECT_EQ(group_->undelivered(), 3u);
    for (const int r : {2, 1, 3}) EXPECT_EQ(receive(r, 0, {1, 0, 0}), text);
  }
}

TEST_F(Loop, MessagesWithoutDataArrive) {
  make(2);
  ASSERT_TRUE(send(0, {1}, {1, 0, 0}, ""));
  EXPECT_EQ(receive(1, 0, {1, 0, 0}), "");
}

TEST_F(Loop, MoreThanTheCapacityIsNotNow) {
  make(3, {.capacity = 2});
  ASSERT_TRUE(send(0, {1}, {1, 0, 0}, "a"));
  ASSERT_TRUE(send(0, {1}, {1, 0, 1}, "b"));
  EXPECT_FALSE(at(0).can_post(1));
  EXPECT_FALSE(send(0, {1}, {1, 0, 2}, "c"));
  EXPECT_FALSE(send(0, {2, 1}, {1, 0, 2}, "c"));
  const int one[] = {1};
  const std::byte data{};
  EXPECT_FALSE(at(0).post_direct(one, {1, 0, 2}, &data, 1));
  EXPECT_FALSE(at(0).post_landed(1, {1, 0, 2}, &data, 1));
  EXPECT_TRUE(send(0, {2}, {1, 0, 2}, "to others"));
  EXPECT_TRUE(send(1, {0}, {1, 0, 2}, "the other way"));
  EXPECT_EQ(receive(1, 0, {1, 0, 1}), "b");
  EXPECT_TRUE(send(0, {1}, {1, 0, 2}, "c"));
}

TEST_F(Loop, InOrderOnlyTheOldestMakesRoom) {
  make(2, {.capacity = 2, .in_order = true});
  send(0, {1}, {1, 0, 0}, "a");
  send(0, {1}, {1, 0, 1}, "b");
  receive(1, 0, {1, 0, 1});
  EXPECT_FALSE(at(0).can_post(1));
  receive(1, 0, {1, 0, 0});
  EXPECT_TRUE(send(0, {1}, {1, 0, 2}, "c"));
  EXPECT_TRUE(send(0, {1}, {1, 0, 3}, "d"));
  EXPECT_FALSE(at(0).can_post(1));
}

TEST_F(Loop, DirectMessagesAreReadFromTheSendersMemory) {
  make(3, {.direct = true});
  std::string memory = "now";
  const auto* data = reinterpret_cast<const std::byte*>(memory.data());
  EXPECT_TRUE(at(0).can_send_direct(data, 3));
  const int peers[] = {1, 2};
  ASSERT_TRUE(at(0).post_direct(peers, {1, 0, 0}, data, 3));
  memory = "new";
  EXPECT_EQ(receive(1, 0, {1, 0, 0}), "new");
  EXPECT_FALSE(at(0).drained());
  EXPECT_EQ(receive(2, 0, {1, 0, 0}), "new");
  EXPECT_TRUE(at(0).drained());
  EXPECT_FALSE(LoopGroup(1).endpoint(0).can_send_direct(data, 3));
}

TEST_F(Loop, OutputsAreReachedByWhoHeardFromTheirOwner) {
  group_ = std::make_unique<LoopGroup>(2, LoopOptions{.direct = true, .landing = true});
  std::byte output[16];
  at(0).enter(call_number(1), nullptr, 0);
  at(1).enter(call_number(1), output, sizeof output);
  EXPECT_EQ(at(0).landing(1), nullptr);
  send(1, {0}, {1, 0, 0}, "hello");
  EXPECT_EQ(at(0).landing(1), nullptr);
  EXPECT_EQ(receive(0, 1, {1, 0, 0}), "hello");
  ASSERT_EQ(at(0).landing(1), output);
  ASSERT_TRUE(at(0).post_landed(1, {1, 0, 1}, output + 4, 8));
  EXPECT_TRUE(at(0).drained());
  const Message message = find(1, 0, {1, 0, 1});
  EXPECT_EQ(message.data, output + 4);
  EXPECT_EQ(message.bytes, 8u);
  at(1).release(0, message);
  at(0).enter(call_number(2), nullptr, 0);
  EXPECT_EQ(at(0).landing(1), nullptr);
}

TEST_F(Loop, KnowsWhoHasEntered) {
  make(3);
  at(0).enter(call_number(2), nullptr, 0);
  EXPECT_EQ(at(0).entered(1), Endpoint::Entered::no);
  at(1).enter(call_number(2), nullptr, 0);
  EXPECT_EQ(at(0).entered(1), Endpoint::Entered::same);
  at(1).enter(call_number(3), nullptr, 0);
  EXPECT_EQ(at(0).entered(1), Endpoint::Entered::same);
  at(2).enter(call_number(2, 8), nullptr, 0);
  EXPECT_EQ(at(0).entered(2), Endpoint::Entered::other);
  EXPECT_EQ(at(0).last_call(1).sequence, 3u);
}

TEST_F(Loop, APeerInAnotherCallIsSeenByItsSignature) {
  make(2);
  at(0).enter(call_number(2, 8), nullptr, 0);
  at(1).enter(call_number(2, 9), nullptr, 0);
  const Message message = find(0, 1, {2, 0, 0});
  EXPECT_NE(message.data, nullptr);
  EXPECT_EQ(message.signature, 9u);
}

TEST_F(Loop, ShowsNoMoreMessagesThanAllowed) {
  make(2);
  for (uint32_t tag = 0; tag < 3; ++tag) send(0, {1}, {1, 0, tag}, "a");
  at(1).allow(1);
  EXPECT_EQ(receive(1, 0, {1, 0, 9}), "nothing");
  EXPECT_EQ(receive(1, 0, {1, 0, 0}), "a");
  EXPECT_EQ(receive(1, 0, {1, 0, 1}), "nothing");
  at(1).allow(LoopEndpoint::kUnlimited);
  EXPECT_EQ(receive(1, 0, {1, 0, 1}), "a");
  EXPECT_EQ(receive(1, 0, {1, 0, 2}), "a");
}

TEST_F(Loop, SendsNoMoreMessagesThanAllowedButGroupsAsAWhole) {
  make(4);
  at(0).allow_sends(2);
  EXPECT_TRUE(send(0, {1}, {1, 0, 0}, "a"));
  EXPECT_TRUE(send(0, {1, 2, 3}, {1, 0, 1}, "b"));
  EXPECT_FALSE(at(0).can_post(1));
  EXPECT_FALSE(send(0, {1}, {1, 0, 2}, "c"));
  at(0).allow_sends(LoopEndpoint::kUnlimited);
  EXPECT_TRUE(send(0, {1}, {1, 0, 2}, "c"));
}

TEST_F(Loop, PacketsComeInOrder) {
  make(2, {.capacity = 2});
  const std::string header(Packet::kHeaderBytes, 'h');
  Packet packet;
  EXPECT_FALSE(at(1).peek(0, &packet));
  const auto* data = reinterpret_cast<const std::byte*>(kLong.data());
  ASSERT_TRUE(at(0).push(1, 3, header.data(), header.size(), data, kLong.size()));
  ASSERT_TRUE(at(0).push(1, 4, "x", 1, nullptr, 0));
  EXPECT_FALSE(at(0).push(1, 5, "y", 1, nullptr, 0));
  ASSERT_TRUE(at(1).peek(0, &packet));
  EXPECT_EQ(packet.type, 3);
  EXPECT_EQ(std::memcmp(packet.header, header.data(), header.size()), 0);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(packet.data), packet.bytes), kLong);
  at(1).pop(0);
  EXPECT_TRUE(at(0).push(1, 5, "y", 1, nullptr, 0));
  for (const int type : {4, 5}) {
    ASSERT_TRUE(at(1).peek(0, &packet));
    EXPECT_EQ(packet.type, type);
    at(1).pop(0);
  }
  EXPECT_FALSE(at(1).peek(0, &packet));
}

TEST_F(Loop, ARankSendsPacketsToItself) {
  make(1);
  Packet packet;
  ASSERT_TRUE(at(0).push(0, 1, "", 0, nullptr, 0));
  ASSERT_TRUE(at(0).peek(0, &packet));
  at(0).pop(0);
  EXPECT_FALSE(at(0).peek(0, &packet));
}

TEST_F(Loop, MemoryIsLocatedWhereItCanBeSentDirectly) {
  make(2, {.direct = true});
  std::byte memory[4];
  const int64_t location = at(0).locate(memory, 4);
  ASSERT_GE(location, 0);
  EXPECT_EQ(at(1).resolve(0, location), memory);
  make(2);
  EXPECT_LT(at(0).locate(memory, 4), 0);
}

TEST_F(Loop, TheReasonOfAFailureReachesThePeers) {
  make(3);
  EXPECT_FALSE(at(0).check(true, {}).has_value());
  at(1).announce_failure(Code::timeout, "first");
  at(1).announce_failure(Code::aborted, "second");
  const auto trouble = at(0).check(true, {});
  ASSERT_TRUE(trouble.has_value());
  EXPECT_EQ(trouble->kind, Trouble::failed);
  EXPECT_EQ(trouble->peer, 1);
  EXPECT_EQ(trouble->code, Code::timeout);
  EXPECT_EQ(trouble->text, "first");
  EXPECT_FALSE(at(1).check(true, {}).has_value());
}

TEST_F(Loop, AllPairsOf500RanksAtOnce) {
  constexpr int kRanks = 500;
  make(kRanks);
  std::vector<int> all(kRanks);
  std::iota(all.begin(), all.end(), 0);
  for (uint32_t tag = 0; tag < 2; ++tag)
    for (int from = 0; from < kRanks; ++from)
      ASSERT_TRUE(send(from, all, {1, 0, tag}, std::to_string(from + 1)));
  EXPECT_EQ(group_->undelivered(), size_t{2} * kRanks * kRanks);
  for (int to = 0; to < kRanks; ++to)
    for (int from = kRanks; from-- > 0;)
      for (const uint32_t tag : {1u, 0u}) ASSERT_EQ(receive(to, from, {1, 0, tag}), std::to_string(from + 1));
  EXPECT_EQ(group_->undelivered(), 0u);
}

}  // namespace
}  // namespace wia
