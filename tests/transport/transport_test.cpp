// What holds for every transport (transport/endpoint.hpp).
#include <algorithm>
#include <cstring>

#include "transport/transports.hpp"

namespace wia {
namespace {

class TransportTest : public testing::TestWithParam<Transport> {
 protected:
  void make(int ranks) {
    group_ = GetParam().make(ranks);
    for (int r = 0; r < ranks; ++r) at(r).enter(call_number(1), {}, nullptr, 0);
  }
  Endpoint& at(int rank) { return group_->at(rank); }

  std::unique_ptr<TransportGroup> group_;
};

TEST_P(TransportTest, MessagesAreFoundByKeyInAnyOrder) {
  make(3);
  ASSERT_TRUE(send(at(0), {1}, {1, 0, 5}, "first"));
  ASSERT_TRUE(send(at(0), {1}, {1, 0, 6}, "second"));
  ASSERT_TRUE(send(at(0), {1}, {1, 1, 5}, kLong));
  ASSERT_TRUE(send(at(2), {1}, {1, 0, 5}, "from 2"));
  EXPECT_EQ(receive(at(1), 0, {1, 1, 5}), kLong);
  EXPECT_EQ(receive(at(1), 0, {1, 0, 6}), "second");
  EXPECT_EQ(receive(at(1), 2, {1, 0, 5}), "from 2");
  EXPECT_EQ(receive(at(1), 0, {1, 0, 7}), "nothing");
  EXPECT_EQ(receive(at(1), 0, {2, 0, 5}), "nothing");
  EXPECT_EQ(receive(at(1), 0, {1, 0, 5}), "first");
  EXPECT_EQ(receive(at(1), 0, {1, 0, 5}), "nothing");
}

TEST_P(TransportTest, AMessageStaysWhereItIsUntilReleased) {
  make(2);
  for (const std::string& text : {std::string("short"), kLong}) {
    ASSERT_TRUE(send(at(0), {1}, {1, 0, 0}, text));
    const Message held = find(at(1), 0, {1, 0, 0});
    uint32_t sent = 0;
    while (sent < 40 && send(at(0), {1}, {1, 0, 1 + sent}, std::string(text.size(), 'o'))) ++sent;
    EXPECT_EQ(text_of(held), text);
    EXPECT_EQ(text_of(find(at(1), 0, {1, 0, 0})), text);
    EXPECT_EQ(held.signature, 7u);
    at(1).release(0, held);
    for (uint32_t i = 0; i < sent; ++i) EXPECT_EQ(receive(at(1), 0, {1, 0, 1 + i})[0], 'o');
  }
}

TEST_P(TransportTest, AGroupGetsTheSameData) {
  make(4);
  for (const std::string& text : {std::string("short"), kLong}) {
    ASSERT_TRUE(send(at(0), {1, 2, 3}, {1, 0, 0}, text));
    for (const int r : {2, 1, 3}) EXPECT_EQ(receive(at(r), 0, {1, 0, 0}), text);
  }
}

TEST_P(TransportTest, MessagesWithoutDataArrive) {
  make(2);
  ASSERT_TRUE(send(at(0), {1}, {1, 0, 0}, ""));
  EXPECT_EQ(receive(at(1), 0, {1, 0, 0}), "");
}

// Of several thousand messages of any length each arrives once and whole, however the two ends take turns.
TEST_P(TransportTest, RoomComesBackInWhateverOrderItIsGivenBack) {
  make(2);
  uint32_t random = 1;
  const auto next = [&random] { return random = random * 1664525 + 1013904223, random >> 8; };
  const size_t longest = std::min<size_t>(at(0).max_staged(), 16 << 10);
  std::vector<std::pair<uint32_t, std::string>> under_way;
  int refused = 0;
  for (uint32_t tag = 0; tag < 5000;) {
    const std::string text(next() % (next() % 4 == 0 ? longest : 100), static_cast<char>('a' + tag % 26));
    if (under_way.size() < 12 && send(at(0), {1}, {1, 0, tag}, text)) {
      under_way.emplace_back(tag++, text);
      continue;
    }
    ++refused;
    ASSERT_FALSE(under_way.empty());
    const auto which = under_way.begin() + next() % under_way.size();
    ASSERT_EQ(receive(at(1), 0, {1, 0, which->first}), which->second);
    under_way.erase(which);
  }
  EXPECT_GT(refused, 0);
}

TEST_P(TransportTest, AFullPeerIsNotNowAndOthersAreFree) {
  make(3);
  uint32_t sent = 0;
  while (sent < 1000 && send(at(0), {1}, {1, 0, sent}, "a")) ++sent;
  ASSERT_LT(sent, 1000u);
  EXPECT_FALSE(at(0).can_post(1));
  EXPECT_FALSE(send(at(0), {2, 1}, {1, 0, sent}, "both or none"));
  EXPECT_EQ(receive(at(2), 0, {1, 0, sent}), "nothing");
  EXPECT_TRUE(send(at(0), {2}, {1, 0, sent}, "to others"));
  EXPECT_TRUE(send(at(1), {0}, {1, 0, sent}, "the other way"));
  for (uint32_t tag = 0; tag < sent; ++tag) EXPECT_EQ(receive(at(1), 0, {1, 0, tag}), "a");
  EXPECT_TRUE(at(0).can_post(1));
  EXPECT_TRUE(send(at(0), {1}, {1, 0, sent}, "again"));
}

TEST_P(TransportTest, DirectMessagesAreReadFromTheSendersMemory) {
  make(3);
  std::byte* data = group_->memory(kLong.size());
  if (!at(0).can_send_direct(std::vector{1}, data, kLong.size())) GTEST_SKIP() << "this transport has none";
  std::memset(data, 'b', kLong.size());
  const int peers[] = {1, 2};
  ASSERT_TRUE(at(0).post_direct(peers, {1, 0, 0}, data, kLong.size()));
  std::memset(data, 'x', kLong.size());
  EXPECT_EQ(receive(at(1), 0, {1, 0, 0}), kLong);
  EXPECT_FALSE(at(0).drained());
  EXPECT_EQ(receive(at(2), 0, {1, 0, 0}), kLong);
  EXPECT_TRUE(at(0).drained());
}

TEST_P(TransportTest, OutputsAreReachedByWhoHeardFromTheirOwner) {
  make(2);
  std::byte* output = group_->memory(2000);
  at(0).enter(call_number(2), {}, nullptr, 0);
  at(1).enter(call_number(2), {}, output, 2000);
  EXPECT_EQ(at(0).landing(1), nullptr);
  ASSERT_TRUE(send(at(1), {0}, {2, 0, 0}, kLong));
  EXPECT_EQ(receive(at(0), 1, {2, 0, 0}), kLong);
  std::byte* landing = at(0).landing(1);
  if (!landing) GTEST_SKIP() << "this transport cannot write into a peer's output";
  std::memcpy(landing + 500, kLong.data(), kLong.size());
  ASSERT_TRUE(at(0).post_landed(1, {2, 0, 1}, landing + 500, kLong.size()));
  EXPECT_TRUE(at(0).drained());
  const Message message = find(at(1), 0, {2, 0, 1});
  EXPECT_EQ(message.data, output + 500);
  EXPECT_EQ(text_of(message), kLong);
  at(1).release(0, message);
  at(0).enter(call_number(3), {}, nullptr, 0);
  EXPECT_EQ(at(0).landing(1), nullptr);
}

TEST_P(TransportTest, KnowsWhoHasEntered) {
  make(3);
  at(0).enter(call_number(2), {}, nullptr, 0);
  EXPECT_EQ(at(0).entered(1), Endpoint::Entered::no);
  at(1).enter(call_number(2), {}, nullptr, 0);
  EXPECT_EQ(at(0).entered(1), Endpoint::Entered::same);
  at(1).enter(call_number(3), {}, nullptr, 0);
  EXPECT_EQ(at(0).entered(1), Endpoint::Entered::same);
  at(2).enter(call_number(2, 8), {}, nullptr, 0);
  EXPECT_EQ(at(0).entered(2), Endpoint::Entered::other);
  EXPECT_EQ(at(0).last_call(1).sequence, 3u);
}

TEST_P(TransportTest, AMessageOfAnotherCallIsSeenByItsSignature) {
  make(2);
  at(0).enter(call_number(2, 8), {}, nullptr, 0);
  at(1).enter(call_number(2, 9), {}, nullptr, 0);
  ASSERT_TRUE(send(at(1), {0}, {2, 3, 4}, "something else"));
  const Message message = find(at(0), 1, {2, 0, 0});
  EXPECT_NE(message.data, nullptr);
  EXPECT_EQ(message.signature, 9u);
}

TEST_P(TransportTest, PacketsComeInOrder) {
  make(2);
  const std::string header(Packet::kHeaderBytes, 'h');
  const auto* data = reinterpret_cast<const std::byte*>(kLong.data());
  Packet packet;
  EXPECT_FALSE(at(1).peek(0, &packet));
  uint8_t sent = 0;
  for (bool done = false; !done && sent < 100;) {
    done = sent % 2 ? !at(0).push(1, sent, "x", 1, nullptr, 0)
                    : !at(0).push(1, sent, header.data(), header.size(), data, kLong.size());
    sent += !done;
  }
  ASSERT_GT(sent, 1);
  ASSERT_LT(sent, 100);
  for (uint8_t type = 0; type < sent; ++type) {
    ASSERT_TRUE(at(1).peek(0, &packet));
    EXPECT_EQ(packet.type, type);
    EXPECT_EQ(std::memcmp(packet.header, type % 2 ? "x" : header.data(), type % 2 ? 1 : header.size()), 0);
    EXPECT_EQ(packet.bytes, type % 2 ? 0 : kLong.size());
    if (packet.bytes > 0) {
      EXPECT_EQ(std::memcmp(packet.data, kLong.data(), kLong.size()), 0);
    }
    at(1).pop(0);
    EXPECT_TRUE(at(0).push(1, static_cast<uint8_t>(sent + type), "x", 1, nullptr, 0) || type == 0);
  }
}

TEST_P(TransportTest, ARankSendsPacketsToItself) {
  make(1);
  Packet packet;
  ASSERT_TRUE(at(0).push(0, 1, "", 0, nullptr, 0));
  ASSERT_TRUE(at(0).peek(0, &packet));
  at(0).pop(0);
  EXPECT_FALSE(at(0).peek(0, &packet));
}

TEST_P(TransportTest, MemoryIsLocatedWhereItCanBeSentDirectly) {
  make(2);
  std::byte* memory = group_->memory(64);
  if (!at(0).can_send_direct(std::vector{1}, memory, 64)) GTEST_SKIP() << "this transport has none";
  const int64_t location = at(0).locate(1, memory, 64);
  ASSERT_GE(location, 0);
  EXPECT_EQ(at(1).resolve(0, location), memory);
}

TEST_P(TransportTest, TheReasonOfAFailureReachesThePeers) {
  make(3);
  EXPECT_FALSE(at(0).check(false, {}).has_value());
  at(1).announce_failure(Code::timeout, "first");
  at(1).announce_failure(Code::aborted, "second");
  const auto trouble = at(0).check(false, {});
  ASSERT_TRUE(trouble.has_value());
  EXPECT_EQ(trouble->kind, Trouble::failed);
  EXPECT_EQ(trouble->peer, 1);
  EXPECT_EQ(trouble->code, Code::timeout);
  EXPECT_EQ(trouble->text, "first");
  EXPECT_FALSE(at(1).check(false, {}).has_value());
}

INSTANTIATE_TEST_SUITE_P(All, TransportTest, testing::ValuesIn(kTransports),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace wia
