// Ranks as threads: who serves, who finds whom, and what is said when they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "bootstrap/launch.hpp"
#include "bootstrap/raw_socket.hpp"

namespace wia {
namespace {

using testing::HasSubstr;

Launch make_launch(int rank, int size, std::vector<int> ports, const std::string& job = "job") {
  Launch launch;
  launch.launcher = "openmpi";
  launch.rank = rank;
  launch.size = size;
  launch.identity.job = job;
  launch.ports = std::move(ports);
  return launch;
}

// Ports of this host that are free now; other programs leave them alone as long as the test is quick.
std::vector<int> free_ports(int count) {
  std::vector<Listener> listeners;
  std::vector<int> ports;
  for (int i = 0; i < count; ++i) {
    listeners.push_back(std::move(*listen_on("127.0.0.1", 0, Deadline::after_ms(1000))));
    ports.push_back(listeners.back().port);
  }
  return ports;
}

struct Joined {
  std::unique_ptr<StoreServer> server;
  std::unique_ptr<Store> store;
  Status status;
};

Joined join(const Launch& launch, int64_t ms = 5000) {
  Joined joined;
  Result<std::unique_ptr<Store>> store = join_store(launch, Deadline::after_ms(ms), &joined.server);
  if (store.ok()) joined.store = std::move(*store);
  joined.status = store.take_status();
  return joined;
}

// All ranks join at once and exchange a value each.
void expect_all_meet(const std::function<Launch(int rank)>& launch_of, int size) {
  std::vector<std::thread> ranks;
  std::vector<Joined> joined(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank)
    ranks.emplace_back([&, rank] {
      Joined& mine = joined[static_cast<size_t>(rank)];
      mine = join(launch_of(rank));
      ASSERT_TRUE(mine.status.ok()) << rank << ": " << mine.status.text();
      ASSERT_TRUE(mine.store->set(std::to_string(rank), std::to_string(rank * rank)).ok());
      for (int peer = 0; peer < size; ++peer)
        EXPECT_EQ(*mine.store->get(std::to_string(peer), Deadline::after_ms(5000)),
                  std::to_string(peer * peer));
    });
  for (auto& rank : ranks) rank.join();
  for (int rank = 0; rank < size; ++rank)
    EXPECT_EQ(joined[static_cast<size_t>(rank)].server != nullptr, rank == 0) << rank;
}

TEST(JoinStore, AWorldOfOneNeedsNobody) {
  const Joined joined = join(Launch());
  ASSERT_TRUE(joined.status.ok()) << joined.status.text();
  EXPECT_TRUE(joined.store->set("key", "value").ok());
}

TEST(JoinStore, RanksOfOneHostMeetAtTheFirstPort) {
  const auto ports = free_ports(3);
  expect_all_meet([&](int rank) { return make_launch(rank, 4, ports); }, 4);
}

TEST(JoinStore, StrangersAndOtherJobsOnThePortsArePassedOver) {
  const Stranger web("HTTP/1.1 400 Bad Request\r\n\r\n", true);
  auto other = StoreServer::start("127.0.0.1", 0, make_launch(0, 2, {}, "other").identity);
  ASSERT_TRUE(other.ok());
  const std::vector<int> ports = {web.port(), (*other)->port(), free_ports(1).front()};
  expect_all_meet([&](int rank) { return make_launch(rank, 3, ports); }, 3);
}

TEST(JoinStore, AServedStoreIsOnlyJoined) {
  auto server = StoreServer::start("127.0.0.1", 0, make_launch(0, 1, {}).identity);
  ASSERT_TRUE(server.ok());
  Launch launch = make_launch(0, 1, {(*server)->port()});
  launch.store_is_served = true;
  const Joined joined = join(launch);
  EXPECT_TRUE(joined.status.ok()) << joined.status.text();
  EXPECT_EQ(joined.server, nullptr);
}

TEST(JoinStore, WithAMasterAddressRankZeroServesItsPort) {
  const int port = free_ports(1).front();
  expect_all_meet(
      [&](int rank) {
        Launch launch = make_launch(rank, 2, {port});
        launch.master_host = rank == 0 ? "a-name-that-only-others-know" : "127.0.0.1";
        return launch;
      },
      2);
}

TEST(JoinStore, RankZeroSaysAtOnceWhoHoldsItsPort) {
  const Stranger silent("", false);
  Launch launch = make_launch(0, 2, {silent.port()});
  launch.master_host = "127.0.0.1";
  const int64_t began = now_ns();
  const Status status = join(launch, 60'000).status;
  EXPECT_LT(now_ns() - began, 5'000'000'000);
  EXPECT_THAT(status.text(), HasSubstr(fmt::format("127.0.0.1:{}: port is in use", silent.port())));
  EXPECT_THAT(status.text(), HasSubstr("there is no answer"));
  EXPECT_THAT(status.text(), HasSubstr("WIA_MASTER_PORT"));
}

TEST(JoinStore, TwoJobsOnOnePort) {
  const int port = free_ports(1).front();
  Launch first = make_launch(0, 2, {port}, ""), second = make_launch(0, 3, {port}, "");
  first.master_host = second.master_host = "127.0.0.1";
  const Joined winner = join(first);
  ASSERT_TRUE(winner.status.ok()) << winner.status.text();
  EXPECT_THAT(join(second).status.text(), HasSubstr("has 2 ranks there, not 3"));
  second.rank = 2;
  EXPECT_THAT(join(second, 60'000).status.text(), HasSubstr("has 2 ranks there, not 3"));
  first.rank = 1;
  EXPECT_TRUE(join(first).status.ok());
}

TEST(JoinStore, ASecondProcessOnARankIsRefusedByName) {
  const auto ports = free_ports(2);
  const Joined zero = join(make_launch(0, 3, ports)), one = join(make_launch(1, 3, ports));
  ASSERT_TRUE(zero.status.ok() && one.status.ok());
  for (const int rank : {0, 1}) {
    const Status status = join(make_launch(rank, 3, ports), 60'000).status;
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_THAT(status.text(),
                HasSubstr(fmt::format("rank {} is taken already by process {} on ", rank, getpid())));
  }
}

TEST(JoinStore, WithoutRankZeroEveryPortIsAccountedFor) {
  const Stranger silent("", false);
  const auto ports = free_ports(1);
  const Status status = join(make_launch(1, 2, {ports[0], silent.port()}), 300).status;
  EXPECT_EQ(status.code(), Code::unreachable);
  EXPECT_THAT(status.text(), HasSubstr(fmt::format("127.0.0.1:{}: connection refused", ports[0])));
  EXPECT_THAT(status.text(),
              HasSubstr(fmt::format("127.0.0.1:{}: the connection is accepted", silent.port())));
  EXPECT_THAT(status.text(), HasSubstr("is rank 0 running?"));
}

TEST(JoinStore, PrivilegedPort) {
  if (geteuid() == 0) GTEST_SKIP() << "root may use any port";
  Launch launch = make_launch(0, 2, {80});
  launch.master_host = "127.0.0.1";
  EXPECT_THAT(join(launch).status.text(), HasSubstr("127.0.0.1:80: no permission for this port"));
}

}  // namespace
}  // namespace wia
