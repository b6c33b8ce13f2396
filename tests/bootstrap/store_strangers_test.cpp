// Bytes from strangers never crash, block or enter a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "bootstrap/raw_socket.hpp"
#include "bootstrap/store.hpp"
#include "bootstrap/store_protocol.hpp"

namespace wia {
namespace {

using testing::HasSubstr;

JobIdentity identity() {
  JobIdentity made;
  made.job = "job";
  made.secret = "secret";
  made.world_size = 2;
  return made;
}

std::string opening() { return store_protocol::opening(store_protocol::kClientMagic); }

std::string good_hello() {
  store_protocol::Hello hello;
  hello.job = "job";
  hello.secret = "secret";
  hello.world_size = 2;
  return opening() + encode(hello);
}

std::string length(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

class StrangersTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = StoreServer::start("127.0.0.1", 0, identity());
    ASSERT_TRUE(started.ok());
    server = std::move(*started);
    auto connected = Store::connect("127.0.0.1", port(), identity(), Deadline::after_ms(5000));
    ASSERT_TRUE(connected.ok());
    store = std::move(*connected);
  }
  void TearDown() override {  // members go on as if nothing had been
    EXPECT_TRUE(store->set("after", "all").ok());
    EXPECT_TRUE(Store::connect("127.0.0.1", port(), identity(), Deadline::after_ms(5000)).ok());
  }
  int port() const { return server->port(); }
  // Sends, and expects to be dropped; gives what came back.
  std::string dropped_after(const std::string& bytes) {
    RawSocket stranger(port());
    stranger.send(bytes);
    bool closed = false;
    const std::string got = stranger.read_to_end(5000, &closed);
    EXPECT_TRUE(closed);
    return got;
  }

  std::unique_ptr<StoreServer> server;
  std::unique_ptr<Store> store;
};

TEST_F(StrangersTest, GarbageIsDroppedWithoutAnAnswer) {
  EXPECT_EQ(dropped_after("\x16\x03\x01\x02\x00\x01 this is the start of something else"), "");
  EXPECT_EQ(dropped_after("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "");
  EXPECT_EQ(dropped_after("W?"), "");
  EXPECT_EQ(dropped_after(std::string(1 << 20, 'W')), "");
}

TEST_F(StrangersTest, AnotherVersionLearnsOurs) {
  EXPECT_EQ(dropped_after(std::string(store_protocol::kClientMagic) + '\x63'),
            store_protocol::opening(store_protocol::kServerMagic).substr(0, 8));
}

TEST_F(StrangersTest, OversizedLengthsAreDroppedAtOnce) {
  dropped_after(opening() + length(0xffffffff));
  dropped_after(opening() + length(store_protocol::kMaxHello + 1));
  dropped_after(good_hello() + length(store_protocol::kMaxRequest + 1));
}

TEST_F(StrangersTest, FramesThatMakeNoSenseAreDropped) {
  dropped_after(opening() + length(3) + "abc");
  dropped_after(good_hello() + length(1) + "\x09");
  dropped_after(good_hello() + length(0));
}

TEST_F(StrangersTest, AWrongSecretLearnsNothingOfIt) {
  store_protocol::Hello hello;
  hello.job = "job";
  hello.secret = "secrex";
  RawSocket stranger(port());
  stranger.send(opening() + encode(hello));
  bool closed = false;
  const std::string got = stranger.read_to_end(100, &closed);
  EXPECT_THAT(got, HasSubstr("secrets of job \"job\" differ"));
  EXPECT_THAT(got, testing::Not(HasSubstr("secret\"")));
}

TEST_F(StrangersTest, ARefusedOneMaySendOnWithoutEffect) {
  store_protocol::Hello hello;
  hello.job = "another";
  RawSocket stranger(port());
  stranger.send(opening() + encode(hello));
  store_protocol::Request request;
  request.keys = {"key"};
  request.value = std::string(1 << 20, 'x');
  for (int i = 0; i < 16; ++i) stranger.send(encode(request));
  const auto value = store->get("key", Deadline::after_ms(0));
  EXPECT_EQ(value.status().code(), Code::timeout);
}

TEST_F(StrangersTest, SilentConnectionsHoldUpNobody) {
  std::vector<std::unique_ptr<RawSocket>> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(std::make_unique<RawSocket>(port()));
    if (i % 3 == 1) silent.back()->send("WIA");                   // half an opening
    if (i % 3 == 2) silent.back()->send(opening() + length(64));  // half a hello
  }
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(store->set("key", "value").ok());
}

TEST_F(StrangersTest, TwoHundredMembersAtOnce) {
  std::vector<std::unique_ptr<Store>> members;
  for (int i = 0; i < 200; ++i) {
    auto member = Store::connect("127.0.0.1", port(), identity(), Deadline::after_ms(5000));
    ASSERT_TRUE(member.ok()) << i << ": " << member.status().text();
    members.push_back(std::move(*member));
  }
  for (auto& member : members) ASSERT_TRUE(member->add("n", 1).ok());
  EXPECT_EQ(*store->add("n", 0), 200);
}

TEST_F(StrangersTest, ASecondCallDuringAWaitingOneIsDropped) {
  store_protocol::Request request;
  request.operation = store_protocol::Operation::get_all;
  request.keys = {"never"};
  request.timeout_ms = store_protocol::kForever;
  dropped_after(good_hello() + encode(request) + encode(request));
}

TEST_F(StrangersTest, WhenDescriptorsRunOutStrangersGoFirst) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<std::unique_ptr<RawSocket>> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<RawSocket>(port()));
  ASSERT_TRUE(store->set("all are accepted before this is answered", "").ok());
  const int lowest_free = dup(0);
  close(lowest_free);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(lowest_free) + 2;  // one for a client here, and one to accept it
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  auto first = Store::connect("127.0.0.1", port(), identity(), Deadline::after_ms(5000));
  auto second = Store::connect("127.0.0.1", port(), identity(), Deadline::after_ms(5000));
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(first.ok()) << first.status().text();
  EXPECT_TRUE(second.ok()) << second.status().text();
}

TEST_F(StrangersTest, ASilentConnectionIsDroppedAfterTheHelloTime) {
  RawSocket silent(port());
  const int64_t began = now_ns();
  bool closed = false;
  EXPECT_EQ(silent.read_to_end(12'000, &closed), "");
  EXPECT_TRUE(closed);
  EXPECT_GE(now_ns() - began, 9'900'000'000);
}

}  // namespace
}  // namespace wia
