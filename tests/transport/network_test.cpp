// The port where ranks take data connections: who is let in, who is not, and what strangers cost.
#include "transport/network.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <optional>

#include "bootstrap/raw_socket.hpp"

namespace wia {
namespace {

constexpr uint64_t kCommunicator = 42;
constexpr HashKey kKey = {1, 2};

class NetworkTest : public testing::Test {
 protected:
  NetworkTest()
      : network(*Network::instance().value()),
        door(network.open(kCommunicator, kKey, 0, std::vector<Paths>(3))) {}

  static std::string_view bytes(const auto& what) {
    return {reinterpret_cast<const char*>(&what), sizeof what};
  }
  template <class What>
  static What take(RawSocket& from) {
    What what;
    EXPECT_TRUE(
        receive_all(from.get(), reinterpret_cast<char*>(&what), sizeof what, Deadline::after_ms(5'000)).ok());
    return what;
  }
  static Hello hello_of(int rank, const Challenge& challenge, const HashKey& key = kKey) {
    Hello hello;
    hello.communicator = kCommunicator;
    hello.from = rank;
    hello.proof = prove(hello, challenge, key);
    return hello;
  }
  // What a hello is answered, which `make` makes for the challenge that it gets.
  Reply::Answer answer_to(const auto& make) {
    auto& caller = callers.emplace_back(std::make_unique<RawSocket>(network.port()));
    const auto challenge = take<Challenge>(*caller);
    caller->send(bytes(make(challenge)));
    return take<Reply>(*caller).answer;
  }
  // Everything that is not like a hello is dropped without an answer.
  void expect_dropped(std::string_view said) {
    RawSocket caller(network.port());
    take<Challenge>(caller);
    caller.send(said);
    bool closed = false;
    EXPECT_EQ(caller.read_to_end(5'000, &closed), "");
    EXPECT_TRUE(closed);
  }

  Network& network;
  std::unique_ptr<Door> door;
  std::vector<std::unique_ptr<RawSocket>> callers;
};

// This side would take for a connection what is none any more.
TEST_F(NetworkTest, WhoHasHungUpIsNotLetIn) {
  RawSocket caller(network.port());
  const Hello hello = hello_of(1, take<Challenge>(caller));
  ::send(caller.get(), &hello, sizeof hello, MSG_MORE);  // goes with what follows
  shutdown(caller.get(), SHUT_WR);
  bool closed = false;
  EXPECT_EQ(caller.read_to_end(5'000, &closed), "");
  EXPECT_TRUE(closed);
  EXPECT_FALSE(door->has_arrivals());
}

TEST_F(NetworkTest, OnlyWhoProvesTheKeyIsLetIn) {
  Hello heard;
  const auto good = [&](const Challenge& challenge) { return heard = hello_of(1, challenge); };
  EXPECT_EQ(answer_to([](const Challenge& c) { return hello_of(1, c, {1, 3}); }), Reply::not_proven);
  EXPECT_TRUE(door->take_arrivals().empty());
  EXPECT_EQ(answer_to(good), Reply::welcome);
  const auto arrivals = door->take_arrivals();
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].peer, 1);
  EXPECT_EQ(answer_to([&](const Challenge&) { return heard; }), Reply::not_proven)
      << "a hello that was heard before";
  EXPECT_EQ(answer_to(good), Reply::crossed) << "the connection stands";
  const auto changed = [](auto change) {
    return [change](const Challenge& challenge) {
      Hello hello = hello_of(2, challenge);
      change(hello);
      return hello;
    };
  };
  EXPECT_EQ(answer_to(changed([](Hello& hello) { hello.from = 1; })), Reply::not_proven);
  EXPECT_EQ(answer_to(changed([](Hello& hello) { hello.communicator = 43; })), Reply::not_here);
  EXPECT_EQ(answer_to(changed([](Hello& hello) { hello.to = 1; })), Reply::not_here);
  for (const int rank : {-1, 0, 3})
    EXPECT_EQ(answer_to([&](const Challenge& c) { return hello_of(rank, c); }), Reply::not_here) << rank;
  EXPECT_TRUE(door->take_arrivals().empty());
}

TEST_F(NetworkTest, WhatIsNoHelloIsDropped) {
  Hello other_version;
  ++other_version.version;
  expect_dropped(bytes(other_version));
  expect_dropped("GET / HTTP/1.1\r\n\r\n");
  expect_dropped(std::string(100'000, 'W'));
  EXPECT_TRUE(door->take_arrivals().empty());
}

TEST_F(NetworkTest, OfTheSilentOnlySoManyAreKept) {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_descriptors();
  for (int i = 0; i < 400; ++i) {
    auto& silent = callers.emplace_back(std::make_unique<RawSocket>(network.port()));
    take<Challenge>(*silent);
    if (i % 2 == 0) silent->send(bytes(Hello()).substr(0, 10));
  }
  EXPECT_LE(open_descriptors() - before, 400 + 256 + 1);
  bool closed = false;
  EXPECT_EQ(callers[0]->read_to_end(5'000, &closed), "");
  EXPECT_TRUE(closed) << "the oldest";
  EXPECT_EQ(answer_to([](const Challenge& c) { return hello_of(1, c); }), Reply::welcome);
}

// Ways that lead to something silent are not waited for one after the other.
TEST_F(NetworkTest, SilentWaysDelayNobody) {
  const Stranger silent("", false);
  const auto path_to = [](int port) {
    Path path;
    path.nic = "lo";
    path.from = path.to = *parse_address("127.0.0.1");
    reinterpret_cast<sockaddr_in*>(&path.to.storage)->sin_port = htons(static_cast<uint16_t>(port));
    return path;
  };
  Paths paths;
  paths.rails.assign(10, path_to(silent.port()));
  paths.others = {path_to(network.port())};
  const auto caller = network.open(kCommunicator, kKey, 1, {paths, Paths(), Paths()});
  const Deadline all_in_turn = Deadline::after_ms(15'000);
  caller->connect(0, 0);
  std::vector<Arrival> arrivals;
  while (arrivals.empty() && !all_in_turn.passed()) {
    poll(nullptr, 0, 10);
    arrivals = caller->take_arrivals();
  }
  ASSERT_EQ(arrivals.size(), 1u) << caller->difficulties(0);
  EXPECT_TRUE(arrivals[0].failure.ok()) << arrivals[0].failure.text();
  EXPECT_EQ(arrivals[0].peer, 0);
}

}  // namespace
}  // namespace wia
