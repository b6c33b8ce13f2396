// What Store::connect says when it cannot join.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "bootstrap/raw_socket.hpp"
#include "bootstrap/store.hpp"
#include "bootstrap/store_gate.hpp"
#include "bootstrap/store_protocol.hpp"

namespace wia {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

JobIdentity identity(const std::string& job = "job", const std::string& secret = "secret", int size = 2) {
  JobIdentity made;
  made.job = job;
  made.secret = secret;
  made.world_size = size;
  return made;
}

Status connect_error(const std::string& host, int port, const JobIdentity& who, int64_t ms) {
  const int64_t began = now_ns();
  auto store = Store::connect(host, port, who, Deadline::after_ms(ms));
  EXPECT_FALSE(store.ok());
  EXPECT_LT(now_ns() - began, (ms + 5000) * 1'000'000);
  EXPECT_THAT(store.status().text(), HasSubstr(fmt::format("{}:{}", host, port)));
  EXPECT_THAT(store.status().text(), HasSubstr("attempt"));
  return store.take_status();
}

// A port of this host where nobody listens.
int free_port() {
  auto listener = listen_on("127.0.0.1", 0, Deadline::after_ms(1000));
  return listener->port;
}

TEST(StoreConnect, RefusedIsTriedAgainUntilTheDeadline) {
  const Status status = connect_error("127.0.0.1", free_port(), identity(), 200);
  EXPECT_EQ(status.code(), Code::unreachable);
  EXPECT_THAT(status.text(),
              MatchesRegex(".*: connection refused \\(1?[0-9] attempts in 0\\.2 s\\); is rank 0.*"));
}

TEST(StoreConnect, AStoreThatComesLateIsFound) {
  const int port = free_port();
  std::unique_ptr<StoreServer> server;
  std::thread late([&] {
    EXPECT_EQ(connect_error("127.0.0.1", port, identity(), 100).code(), Code::unreachable);
    server = std::move(*StoreServer::start("127.0.0.1", port, identity()));
  });
  EXPECT_TRUE(Store::connect("127.0.0.1", port, identity(), Deadline::after_ms(5000)).ok());
  late.join();
}

TEST(StoreConnect, NoSuchHost) {
  const Status status = connect_error("no-such-host.invalid", 29500, identity(), 300);
  EXPECT_THAT(status.text(), HasSubstr("no such host \"no-such-host.invalid\""));
}

TEST(StoreConnect, AListenerThatNeverAnswers) {
  const Stranger silent("", false);
  const Status status = connect_error("127.0.0.1", silent.port(), identity(), 200);
  EXPECT_EQ(status.code(), Code::timeout);
  EXPECT_THAT(status.text(), HasSubstr("accepted, but there is no answer"));
}

TEST(StoreConnect, AnotherProtocolIsShown) {
  const Stranger web("HTTP/1.1 400 Bad Request\r\n\r\n", true);
  const Status status = connect_error("127.0.0.1", web.port(), identity(), 200);
  EXPECT_EQ(status.code(), Code::protocol);
  EXPECT_THAT(status.text(), HasSubstr("does not speak this protocol answers (\"HTTP/1.1 400 Bad"));
  const Stranger curt("", true);
  EXPECT_THAT(connect_error("127.0.0.1", curt.port(), identity(), 200).text(),
              HasSubstr("does not speak this protocol closed the connection"));
}

TEST(StoreConnect, AnEchoIsNoStore) {
  const Stranger echo(store_protocol::opening(store_protocol::kClientMagic), false);
  EXPECT_EQ(connect_error("127.0.0.1", echo.port(), identity(), 200).code(), Code::protocol);
}

TEST(StoreConnect, AnotherVersion) {
  const Stranger newer(std::string(store_protocol::kServerMagic) + '\2', false);
  EXPECT_THAT(connect_error("127.0.0.1", newer.port(), identity(), 200).text(),
              HasSubstr("another version of this protocol is spoken there (2, not 1)"));
}

TEST(StoreConnect, AnotherJobWithBothIdentitiesButNoSecret) {
  auto server = StoreServer::start("127.0.0.1", 0, identity("alpha", "hush", 2));
  ASSERT_TRUE(server.ok());
  const Status status = connect_error("127.0.0.1", (*server)->port(), identity("beta", "psst", 3), 200);
  EXPECT_EQ(status.code(), Code::protocol);
  EXPECT_THAT(status.text(),
              HasSubstr("another job: job \"alpha\" of 2 ranks is served there, not \"beta\" of 3"));
  EXPECT_THAT(status.text(), Not(HasSubstr("hush")));
  EXPECT_THAT(status.text(), Not(HasSubstr("psst")));
}

TEST(StoreConnect, AnotherSecret) {
  auto server = StoreServer::start("127.0.0.1", 0, identity("job", "hush"));
  ASSERT_TRUE(server.ok());
  const Status status = connect_error("127.0.0.1", (*server)->port(), identity("job", "psst"), 200);
  EXPECT_EQ(status.code(), Code::protocol);
  EXPECT_THAT(status.text(), HasSubstr("another job: the secrets of job \"job\" differ"));
}

TEST(StoreConnect, AnotherNumberOfRanksIsSaidAtOnce) {
  auto server = StoreServer::start("127.0.0.1", 0, identity());
  ASSERT_TRUE(server.ok());
  const Status status = connect_error("127.0.0.1", (*server)->port(), identity("job", "secret", 3), 60'000);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_THAT(status.text(), HasSubstr("has 2 ranks there, not 3"));
  EXPECT_TRUE(
      Store::connect("127.0.0.1", (*server)->port(), identity("job", "secret", 0), Deadline::after_ms(5000))
          .ok());
}

TEST(StoreConnect, APortThatIsNone) {
  EXPECT_THAT(connect_error("127.0.0.1", 0, identity(), 60'000).text(), HasSubstr("range 1 to 65535"));
}

TEST(StoreConnect, SecretsAreComparedWhole) {
  EXPECT_TRUE(equal_secrets("", ""));
  EXPECT_TRUE(equal_secrets("abc", "abc"));
  for (const char* other : {"", "ab", "abcd", "abd", "xbc"}) {
    EXPECT_FALSE(equal_secrets("abc", other)) << other;
    EXPECT_FALSE(equal_secrets(other, "abc")) << other;
  }
}

}  // namespace
}  // namespace wia
