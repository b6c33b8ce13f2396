// What holds for every transport (transport/endpoint.hpp).
#include <algorithm>
#include <cstring>

#include "transport/transports.hpp"

namespace wia {
namespace {

class TransportTest : public RanksTest {
 protected:
  void make(int ranks) { use(GetParam().make(ranks), ranks); }
  // What is not possible so many times is not a matter of patience.
  template <class Action>
  bool possible(const Action& action) {
    for (int tries = 0; tries < 100; ++tries, all_look())
      if (action()) return true;
    return false;
  }

  bool send_soon(int from, const std::vector<int>& to, Key key, const std::string& text) {
    return eventually([&] { return send(at(from), to, key, text); });
  }
  bool can_send(int from, const std::vector<int>& to, Key key, const std::string& text) {
    return possible([&] { return send(at(from), to, key, text); });
  }
  Message find_soon(int rank, int from, Key key) {
    Message message;
    eventually([&] { return at(rank).find(from, key, &message); });
    return message;
  }
  std::string receive_soon(int rank, int from, Key key) {
    find_soon(rank, from, key);
    std::string text = "nothing";
    eventually([&] { return (text = receive(at(rank), from, key)) != "nothing"; });
    return text;
  }
  // All these have a way to each other.
  void connect(const std::vector<int>& ranks) {
    for (const int from : ranks)
      for (const int to : ranks) {
        if (from == to) continue;
        ASSERT_TRUE(send_soon(from, {to}, {1, 0, 999}, "hello"));
        ASSERT_EQ(receive_soon(to, from, {1, 0, 999}), "hello");
      }
  }
};

TEST_P(TransportTest, MessagesAreFoundByKeyInAnyOrder) {
  make(3);
  ASSERT_TRUE(send_soon(0, {1}, {1, 0, 5}, "first"));
  ASSERT_TRUE(send_soon(0, {1}, {1, 0, 6}, "second"));
  ASSERT_TRUE(send_soon(0, {1}, {1, 1, 5}, kLong));
  ASSERT_TRUE(send_soon(2, {1}, {1, 0, 5}, "from 2"));
  EXPECT_EQ(receive_soon(1, 0, {1, 1, 5}), kLong);
  EXPECT_EQ(receive_soon(1, 0, {1, 0, 6}), "second");
  EXPECT_EQ(receive_soon(1, 2, {1, 0, 5}), "from 2");
  EXPECT_EQ(receive(at(1), 0, {1, 0, 7}), "nothing");
  EXPECT_EQ(receive(at(1), 0, {2, 0, 5}), "nothing");
  EXPECT_EQ(receive_soon(1, 0, {1, 0, 5}), "first");
  EXPECT_EQ(receive(at(1), 0, {1, 0, 5}), "nothing");
}

TEST_P(TransportTest, AMessageStaysWhereItIsUntilReleased) {
  make(2);
  for (const std::string& text : {std::string("short"), kLong}) {
    ASSERT_TRUE(send_soon(0, {1}, {1, 0, 0}, text));
    const Message held = find_soon(1, 0, {1, 0, 0});
    uint32_t sent = 0;
    while (sent < 40 && can_send(0, {1}, {1, 0, 1 + sent}, std::string(text.size(), 'o'))) ++sent;
    EXPECT_EQ(text_of(held), text);
    EXPECT_EQ(text_of(find_soon(1, 0, {1, 0, 0})), text);
    EXPECT_EQ(held.signature, 7u);
    at(1).release(0, held);
    for (uint32_t i = 0; i < sent; ++i) EXPECT_EQ(receive_soon(1, 0, {1, 0, 1 + i})[0], 'o');
  }
}

TEST_P(TransportTest, AGroupGetsTheSameData) {
  make(4);
  for (const std::string& text : {std::string("short"), kLong}) {
    ASSERT_TRUE(send_soon(0, {1, 2, 3}, {1, 0, 0}, text));
    for (const int r : {2, 1, 3}) EXPECT_EQ(receive_soon(r, 0, {1, 0, 0}), text);
  }
}

TEST_P(TransportTest, MessagesWithoutDataArrive) {
  make(2);
  ASSERT_TRUE(send_soon(0, {1}, {1, 0, 0}, ""));
  EXPECT_EQ(receive_soon(1, 0, {1, 0, 0}), "");
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
    all_look();
    if (under_way.empty()) continue;
    const auto which = under_way.begin() + next() % under_way.size();
    ASSERT_EQ(receive_soon(1, 0, {1, 0, which->first}), which->second);
    under_way.erase(which);
  }
  EXPECT_GT(refused, 0);
}

TEST_P(TransportTest, AFullPeerIsNotNowAndOthersAreFree) {
  make(3);
  connect({0, 1, 2});
  uint32_t sent = 0;
  while (sent < 1000 && can_send(0, {1}, {1, 0, sent}, "a")) ++sent;
  ASSERT_LT(sent, 1000u);
  EXPECT_FALSE(possible([&] { return at(0).can_post(1); }));
  EXPECT_FALSE(can_send(0, {2, 1}, {1, 0, sent}, "both or none"));
  EXPECT_EQ(receive(at(2), 0, {1, 0, sent}), "nothing");
  EXPECT_TRUE(send_soon(0, {2}, {1, 0, sent}, "to others"));
  EXPECT_TRUE(send_soon(1, {0}, {1, 0, sent}, "the other way"));
  for (uint32_t tag = 0; tag < sent; ++tag) EXPECT_EQ(receive_soon(1, 0, {1, 0, tag}), "a");
  EXPECT_TRUE(eventually([&] { return at(0).can_post(1); }));
  EXPECT_TRUE(send_soon(0, {1}, {1, 0, sent}, "again"));
}

TEST_P(TransportTest, DirectMessagesAreReadFromTheSendersMemory) {
  if (!GetParam().shares_memory) GTEST_SKIP() << "its ranks share no memory";
  make(3);
  std::byte* data = group_->memory(kLong.size());
  ASSERT_TRUE(at(0).can_send_direct(std::vector{1}, data, kLong.size()));
  std::memset(data, 'b', kLong.size());
  const int peers[] = {1, 2};
  ASSERT_TRUE(eventually([&] { return at(0).post_direct(peers, {1, 0, 0}, data, kLong.size()); }));
  std::memset(data, 'x', kLong.size());
  EXPECT_EQ(receive_soon(1, 0, {1, 0, 0}), kLong);
  EXPECT_FALSE(at(0).drained());
  EXPECT_EQ(receive_soon(2, 0, {1, 0, 0}), kLong);
  EXPECT_TRUE(at(0).drained());
}

TEST_P(TransportTest, DirectMessagesAreWholeThoughTheirMemoryChangesOnceDrained) {
  make(3);
  constexpr size_t kBytes = 1 << 20;
  std::byte* data = group_->memory(kBytes);
  EXPECT_TRUE(at(0).can_send_direct(std::vector{1}, data, kBytes) || !GetParam().shares_memory);
  const int peers[] = {1, 2};
  std::vector<std::byte> place(kBytes);
  for (uint32_t tag = 0; tag < 8; ++tag) {
    const Key key{1, 0, tag};
    std::memset(data, static_cast<int>('a' + tag), kBytes);
    ASSERT_TRUE(eventually([&] { return at(0).post_direct(peers, key, data, kBytes); }));
    std::string texts[3];
    const auto take = [&](int r, std::span<std::byte> where) {
      Message message;
      if (!texts[r].empty() || !at(r).find(0, key, &message, where)) return;
      texts[r] = text_of(message);
      at(r).release(0, message);
    };
    bool drained = false;
    ASSERT_TRUE(eventually([&] {
      take(1, place);  // with a place where it shall go, and without
      take(2, {});
      if (!drained && (drained = at(0).drained())) std::memset(data, '?', kBytes);
      return drained && !texts[1].empty() && !texts[2].empty();
    }));
    for (const int r : peers) EXPECT_TRUE(texts[r] == std::string(kBytes, static_cast<char>('a' + tag)));
  }
}

TEST_P(TransportTest, OutputsAreReachedByWhoHeardFromTheirOwner) {
  if (!GetParam().shares_memory) GTEST_SKIP() << "its ranks share no memory";
  make(2);
  std::byte* output = group_->memory(2000);
  at(0).enter(call_number(2), {}, nullptr, 0);
  at(1).enter(call_number(2), {}, output, 2000);
  EXPECT_EQ(at(0).landing(1), nullptr);
  ASSERT_TRUE(send_soon(1, {0}, {2, 0, 0}, kLong));
  EXPECT_EQ(receive_soon(0, 1, {2, 0, 0}), kLong);
  std::byte* landing = at(0).landing(1);
  ASSERT_NE(landing, nullptr);
  std::memcpy(landing + 500, kLong.data(), kLong.size());
  ASSERT_TRUE(at(0).post_landed(1, {2, 0, 1}, landing + 500, kLong.size()));
  EXPECT_TRUE(at(0).drained());
  const Message message = find_soon(1, 0, {2, 0, 1});
  EXPECT_EQ(message.data, output + 500);
  EXPECT_EQ(text_of(message), kLong);
  at(1).release(0, message);
  at(0).enter(call_number(3), {}, nullptr, 0);
  EXPECT_EQ(at(0).landing(1), nullptr);
}

TEST_P(TransportTest, KnowsWhoHasEntered) {
  make(3);
  const int told[] = {0};
  const auto entered = [&](int peer, Endpoint::Entered as) {
    return eventually([&] { return at(0).entered(peer) == as; });
  };
  at(0).enter(call_number(2), {}, nullptr, 0);
  EXPECT_EQ(at(0).entered(1), Endpoint::Entered::no);
  at(1).enter(call_number(2), told, nullptr, 0);
  EXPECT_TRUE(entered(1, Endpoint::Entered::same));
  at(1).enter(call_number(3), told, nullptr, 0);
  EXPECT_TRUE(entered(1, Endpoint::Entered::same));
  at(2).enter(call_number(2, 8), told, nullptr, 0);
  EXPECT_TRUE(entered(2, Endpoint::Entered::other));
  EXPECT_TRUE(eventually([&] { return at(0).last_call(1).sequence == 3u; }));
}

TEST_P(TransportTest, AMessageOfAnotherCallIsSeenByItsSignature) {
  make(2);
  at(0).enter(call_number(2, 8), {}, nullptr, 0);
  at(1).enter(call_number(2, 9), {}, nullptr, 0);
  ASSERT_TRUE(send_soon(1, {0}, {2, 3, 4}, "something else"));
  const Message message = find_soon(0, 1, {2, 0, 0});
  EXPECT_NE(message.data, nullptr);
  EXPECT_EQ(message.signature, 9u);
}

TEST_P(TransportTest, PacketsComeInOrder) {
  make(2);
  connect({0, 1});
  const std::string header(Packet::kHeaderBytes, 'h');
  const auto* data = reinterpret_cast<const std::byte*>(kLong.data());
  const auto push = [&](uint8_t type) {  // short ones and long ones in turn
    return type % 2 ? at(0).push(1, type, "x", 1, nullptr, 0)
                    : at(0).push(1, type, header.data(), header.size(), data, kLong.size());
  };
  Packet packet;
  EXPECT_FALSE(at(1).peek(0, &packet));
  uint8_t sent = 0;
  while (sent < 100 && possible([&] { return push(sent); })) ++sent;
  ASSERT_GT(sent, 1);
  ASSERT_LT(sent, 100);
  const int first_fill = sent;
  for (uint8_t type = 0; type < sent; ++type) {
    ASSERT_TRUE(eventually([&] { return at(1).peek(0, &packet); }));
    ASSERT_EQ(packet.type, type);
    EXPECT_EQ(std::memcmp(packet.header, type % 2 ? "x" : header.data(), type % 2 ? 1 : header.size()), 0);
    EXPECT_EQ(packet.bytes, type % 2 ? 0 : kLong.size());
    if (packet.bytes > 0) {
      EXPECT_EQ(std::memcmp(packet.data, kLong.data(), kLong.size()), 0);
    }
    at(1).pop(0);
    all_look();
    if (sent < 100 && push(sent)) ++sent;
  }
  EXPECT_GT(sent, first_fill);
  EXPECT_TRUE(eventually([&] { return at(0).flushed(1); }));
}

TEST_P(TransportTest, PacketsOfEveryLengthKeepTheirOrder) {
  make(2);
  connect({0, 1});
  const std::string most(std::min<size_t>(at(0).max_packet_data(), 1 << 20), 'm');
  const auto* data = reinterpret_cast<const std::byte*>(most.data());
  Packet packet;
  uint8_t sent = 0, got = 0;
  ASSERT_TRUE(eventually([&] {
    const size_t bytes = sent % 3 == 0 ? most.size() : sent;
    if (sent < 200) sent += at(0).push(1, sent, "x", 1, data, bytes);
    if (!at(1).peek(0, &packet)) return false;
    EXPECT_EQ(packet.type, got);
    EXPECT_EQ(packet.bytes, got % 3 == 0 ? most.size() : got);
    EXPECT_EQ(static_cast<char>(packet.header[0]), 'x');
    EXPECT_EQ(std::memcmp(packet.data, most.data(), packet.bytes), 0);
    at(1).pop(0);
    return ++got == 200;
  }));
}

TEST_P(TransportTest, ARankSendsPacketsToItself) {
  make(1);
  Packet packet;
  ASSERT_TRUE(eventually([&] { return at(0).push(0, 1, "", 0, nullptr, 0); }));
  ASSERT_TRUE(eventually([&] { return at(0).peek(0, &packet); }));
  at(0).pop(0);
  EXPECT_FALSE(at(0).peek(0, &packet));
}

TEST_P(TransportTest, MemoryIsLocatedWhereItCanBeRead) {
  if (!GetParam().shares_memory) GTEST_SKIP() << "its ranks share no memory";
  make(2);
  std::byte* memory = group_->memory(64);
  const int64_t location = at(0).locate(1, memory, 64);
  ASSERT_GE(location, 0);
  EXPECT_EQ(at(1).resolve(0, location), memory);
}

TEST_P(TransportTest, TheReasonOfAFailureReachesThePeers) {
  make(3);
  connect({0, 1});
  EXPECT_FALSE(at(0).check(false, {}).has_value());
  at(1).announce_failure(Code::timeout, "first");
  at(1).announce_failure(Code::aborted, "second");
  std::optional<Trouble> trouble;
  ASSERT_TRUE(eventually([&] { return (trouble = at(0).check(false, {})).has_value(); }));
  EXPECT_EQ(trouble->kind, Trouble::failed);
  EXPECT_EQ(trouble->peer, 1);
  EXPECT_EQ(trouble->code, Code::timeout);
  EXPECT_EQ(trouble->text, "first");
  EXPECT_FALSE(at(1).check(false, {}).has_value());
}

INSTANTIATE_TEST_SUITE_P(All, TransportTest, testing::ValuesIn(with_and_without_faults()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace wia
