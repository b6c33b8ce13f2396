// Ranks that real launchers start find each other. Launchers that are not installed are skipped.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/environment.hpp"
#include "bootstrap/launch.hpp"

namespace wia {
namespace {

// What every rank runs. Says on stdout who it is.
TEST(RankOfLauncher, DISABLED_Meets) {
  const Result<Launch> launch = detect_launch(environment);
  ASSERT_TRUE(launch.ok()) << launch.status().text();
  std::unique_ptr<StoreServer> server;
  auto store = join_store(launch.value(), Deadline::after_ms(20'000), &server);
  ASSERT_TRUE(store.ok()) << store.status().text();
  const auto all = [&](const char* stage) {
    std::vector<std::string> keys;
    for (int rank = 0; rank < launch.value().size; ++rank) keys.push_back(fmt::format("{}/{}", stage, rank));
    return keys;
  };
  const size_t rank = static_cast<size_t>(launch.value().rank);
  ASSERT_TRUE((*store)->set(all("come")[rank], "x").ok());
  ASSERT_TRUE((*store)->get_all(all("come"), Deadline::after_ms(20'000), nullptr).ok());
  // The server stays until nobody needs it any more.
  ASSERT_TRUE((*store)->set(all("done")[rank], "x").ok());
  if (server) {
    ASSERT_TRUE((*store)->get_all(all("done"), Deadline::after_ms(20'000), nullptr).ok());
  }
  printf("met %d by %s\n", launch.value().size, launch.value().launcher.c_str());
}

void expect_three_meet(const std::string& launcher, const std::string& command, const std::string& name) {
  if (system(("command -v " + launcher + " >/dev/null").c_str()) != 0)
    GTEST_SKIP() << launcher << " is not there";
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  const std::string line =
      command + " " + self +
      " --gtest_also_run_disabled_tests --gtest_filter=RankOfLauncher.* 2>&1 | grep -c 'met 3 by " + name +
      "'";
  FILE* pipe = popen(line.c_str(), "r");
  int count = 0;
  EXPECT_EQ(fscanf(pipe, "%d", &count), 1);
  pclose(pipe);
  EXPECT_EQ(count, 3);
}

TEST(Launchers, OpenMpi) {
  const std::string mpirun = "mpirun.openmpi";
  expect_three_meet(mpirun, "timeout 60 " + mpirun + " --allow-run-as-root --oversubscribe -n 3", "openmpi");
}

TEST(Launchers, Mpich) { expect_three_meet("mpirun.mpich", "timeout 60 mpirun.mpich -n 3", "mpich"); }

}  // namespace
}  // namespace wia
