#include "bootstrap/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace wia {
namespace {

using testing::HasSubstr;

JobIdentity identity(int rank = -1) {
  JobIdentity made;
  made.job = "job";
  made.secret = "secret";
  made.world_size = 3;
  made.rank = rank;
  made.member = "host h, process " + std::to_string(rank);
  return made;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = StoreServer::start("127.0.0.1", 0, identity());
    ASSERT_TRUE(started.ok()) << started.status().text();
    server = std::move(*started);
    store = connect();
  }
  std::unique_ptr<Store> connect(int rank = -1) {
    auto connected = Store::connect("127.0.0.1", server->port(), identity(rank), Deadline::after_ms(5000));
    EXPECT_TRUE(connected.ok()) << connected.status().text();
    return connected.ok() ? std::move(*connected) : nullptr;
  }

  std::unique_ptr<StoreServer> server;
  std::unique_ptr<Store> store;
};

TEST_F(StoreTest, AValueThatWasSetIsGot) {
  const std::string binary("\0\xff\n", 3);
  ASSERT_TRUE(store->set("key", binary).ok());
  EXPECT_EQ(*connect()->get("key", Deadline::after_ms(1000)), binary);
  ASSERT_TRUE(store->set("key", "").ok());
  EXPECT_EQ(*store->get("key", Deadline::never()), "");
}

TEST_F(StoreTest, GetWaitsUntilAnotherSets) {
  auto other = connect();
  std::thread setter([&] { ASSERT_TRUE(other->set("late", "value").ok()); });
  EXPECT_EQ(*store->get("late", Deadline::after_ms(5000)), "value");
  setter.join();
}

TEST_F(StoreTest, GetEndsAtItsDeadlineAndNamesTheKey) {
  const int64_t began = now_ns();
  const auto value = store->get("nobody/sets/this", Deadline::after_ms(50));
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().code(), Code::timeout);
  EXPECT_THAT(value.status().text(), HasSubstr("nobody/sets/this"));
  EXPECT_GE(now_ns() - began, 50'000'000);
  EXPECT_TRUE(store->set("still", "usable").ok());
}

TEST_F(StoreTest, AWaitingGetDelaysNoOtherThread) {
  std::thread waiting([&] { EXPECT_EQ(*store->get("late", Deadline::after_ms(10'000)), "value"); });
  const int64_t began = now_ns();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(store->set("key" + std::to_string(i), "x").ok());
  EXPECT_LT(now_ns() - began, 5'000'000'000);
  ASSERT_TRUE(store->set("late", "value").ok());
  waiting.join();
}

TEST_F(StoreTest, GetAllGivesTheValuesInOrder) {
  std::vector<std::string> keys, expected;
  for (int i = 0; i < 200; ++i) {
    keys.push_back("rank/" + std::to_string(i));
    expected.push_back(std::to_string(i * i));
    ASSERT_TRUE(store->set(keys.back(), expected.back()).ok());
  }
  EXPECT_EQ(*store->get_all(keys, Deadline::after_ms(1000), nullptr), expected);
  EXPECT_TRUE(store->get_all({}, Deadline::after_ms(0), nullptr)->empty());
}

TEST_F(StoreTest, GetAllListsWhatIsMissingAtTheDeadline) {
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) {
    keys.push_back("rank/" + std::to_string(i));
    if (i == 3 || i == 70 || i == 199) continue;
    ASSERT_TRUE(store->set(keys.back(), "here").ok());
  }
  std::vector<int> missing;
  const auto values = store->get_all(keys, Deadline::after_ms(50), &missing);
  EXPECT_EQ(values.status().code(), Code::timeout);
  EXPECT_EQ(missing, (std::vector<int>{3, 70, 199}));
  EXPECT_THAT(values.status().text(), HasSubstr("\"rank/3\" and 2 other keys"));
}

TEST_F(StoreTest, LargestValuesGoThroughAndLargerOnesAreRefusedHere) {
  const std::string largest(1 << 20, 'v'), key(4 << 10, 'k');
  ASSERT_TRUE(store->set(key, largest).ok());
  EXPECT_EQ(*store->get(key, Deadline::after_ms(5000)), largest);
  EXPECT_EQ(store->set(key + "k", "").code(), Code::invalid_argument);
  EXPECT_EQ(store->set("key", largest + "v").code(), Code::invalid_argument);
  std::vector<std::string> keys;
  for (int i = 0; i < 64; ++i) {
    keys.push_back(std::to_string(i));
    ASSERT_TRUE(store->set(keys.back(), largest).ok());
  }
  EXPECT_EQ(store->get_all(keys, Deadline::after_ms(10'000), nullptr)->back(), largest);
}

TEST_F(StoreTest, AddIsAtomicAcrossClients) {
  constexpr int kThreads = 4, kAdds = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, own = t % 2 ? connect() : nullptr] {
      for (int i = 0; i < kAdds; ++i) ASSERT_TRUE((own ? own : store)->add("n", 1).ok());
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(*store->add("n", 0), kThreads * kAdds);
  EXPECT_EQ(*store->get("n", Deadline::after_ms(0)), "800");
}

TEST_F(StoreTest, SetIfAbsentHasOneWinner) {
  EXPECT_EQ(*store->set_if_absent("leader", "a"), "a");
  EXPECT_EQ(*connect()->set_if_absent("leader", "b"), "a");
  ASSERT_TRUE(store->erase("leader").ok());
  EXPECT_EQ(*store->set_if_absent("leader", "c"), "c");
}

TEST_F(StoreTest, ARefusedCallLeavesTheStoreUsable) {
  ASSERT_TRUE(store->set("text", "abc").ok());
  EXPECT_EQ(store->add("text", 1).status().code(), Code::invalid_argument);
  EXPECT_EQ(*store->get("text", Deadline::after_ms(0)), "abc");
}

TEST_F(StoreTest, ASecondProcessOnARankIsRefusedByTheNameOfTheFirst) {
  auto first = connect(1);
  const auto second = Store::connect("127.0.0.1", server->port(), identity(1), Deadline::after_ms(5000));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::invalid_argument);
  EXPECT_THAT(second.status().text(), HasSubstr("rank 1 is taken already by host h, process 1"));
  first.reset();
  EXPECT_NE(connect(1), nullptr);
  const auto none = Store::connect("127.0.0.1", server->port(), identity(3), Deadline::after_ms(5000));
  EXPECT_THAT(none.status().text(), HasSubstr("rank 3 is none of the 3 ranks"));
}

TEST_F(StoreTest, TheEndOfTheServerEndsWaitingCalls) {
  std::thread waiting([&] {
    const auto value = store->get("never", Deadline::never());
    EXPECT_EQ(value.status().code(), Code::unreachable);
    EXPECT_THAT(value.status().text(), HasSubstr("lost the store at 127.0.0.1:"));
  });
  ASSERT_TRUE(connect()->set("x", "y").ok());
  server.reset();
  waiting.join();
  EXPECT_FALSE(store->set("x", "z").ok());
}

TEST_F(StoreTest, AForkedChildMayNotUseItAndHarmsNothing) {
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = store->set("child", "x").code() == Code::forked;
    store.reset();
    server.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(store->set("parent", "x").ok());
}

TEST(StoreServer, StartsAndStopsOnTheSamePort) {
  int port = 0;
  for (int i = 0; i < 100; ++i) {
    auto server = StoreServer::start("127.0.0.1", port, identity());
    ASSERT_TRUE(server.ok()) << i << ": " << server.status().text();
    port = (*server)->port();
    auto store = Store::connect("127.0.0.1", port, identity(), Deadline::after_ms(5000));
    ASSERT_TRUE(store.ok()) << i << ": " << store.status().text();
    ASSERT_TRUE((*store)->set("round", std::to_string(i)).ok());
  }
}

TEST(StoreServer, AnEmptyHostIsEveryAddress) {
  auto server = StoreServer::start("", 0, identity());
  ASSERT_TRUE(server.ok()) << server.status().text();
  for (const char* host : {"127.0.0.1", "", "localhost"})
    EXPECT_TRUE(Store::connect(host, (*server)->port(), identity(), Deadline::after_ms(5000)).ok()) << host;
  if (StoreServer::start("::1", 0, identity()).ok()) {  // this machine has IPv6
    EXPECT_TRUE(Store::connect("[::1]", (*server)->port(), identity(), Deadline::after_ms(5000)).ok());
  }
}

TEST(StoreServer, BindErrorsNameAddressPortAndReason) {
  auto first = StoreServer::start("127.0.0.1", 0, identity());
  ASSERT_TRUE(first.ok());
  const int port = (*first)->port();
  const auto second = StoreServer::start("127.0.0.1", port, identity());
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().text(), HasSubstr(fmt::format("127.0.0.1:{}: port is in use", port)));
  EXPECT_THAT(StoreServer::start("192.0.2.77", 0, identity()).status().text(),
              HasSubstr("192.0.2.77:0: not an address of this machine"));
  EXPECT_EQ(StoreServer::start("", 65536, identity()).status().code(), Code::invalid_argument);
  EXPECT_THAT(StoreServer::start("no such host", 0, identity()).status().text(), HasSubstr("no such host"));
}

TEST_F(StoreTest, TheServerCanWaitUntilTheRanksHaveLeft) {
  auto rank0 = connect(0), rank1 = connect(1), rank2 = connect(2);
  rank0 = nullptr;
  EXPECT_EQ(server->wait_until_left(0, Deadline::after_ms(20)), (std::vector{1, 2}));
  rank1 = nullptr;
  rank2 = nullptr;
  EXPECT_THAT(server->wait_until_left(0, Deadline::after_ms(60'000)), testing::IsEmpty());
  auto next_world = connect(1);
  EXPECT_THAT(server->wait_until_left(0, Deadline::after_ms(60'000)), testing::IsEmpty());
  EXPECT_EQ(server->wait_until_left(-1, Deadline::after_ms(20)), std::vector{1});
}

}  // namespace
}  // namespace wia
