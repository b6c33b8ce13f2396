// Field case S13: a rank that dies is noticed at once and named by every survivor, wherever it was.
#include <sys/resource.h>

#include <thread>

#include "cli/command.hpp"
#include "field/data.hpp"

namespace wia::field {
namespace {

enum class Moment { in_transfer, in_barrier, idle, early_exit, terminated };
const char* const kMoments[] = {"in_transfer", "in_barrier", "idle", "early_exit", "terminated"};

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

// How the others see that a process has ended: in the memory they share, or by the connection.
bool tells_of_an_end() {
  return says("its process has ended") || says("it has closed the connection") ||
         says("the connection has failed");
}

void kill_myself_soon() {
  std::thread([] {
    usleep(30'000);
    raise(SIGKILL);
  }).detach();
}

void die(Moment moment) {
  switch (moment) {
    case Moment::in_transfer:
    case Moment::in_barrier:
      return kill_myself_soon();
    case Moment::idle:
      raise(SIGKILL);
      break;
    case Moment::early_exit:
      std::exit(0);
    case Moment::terminated:
      raise(SIGTERM);
  }
}

// The status of the call in which this rank noticed.
wia_status_t until_trouble(wia_communicator_t* w, Moment moment, bool is_victim, bool is_late) {
  constexpr size_t kCount = 2'000'000;  // 16 MB
  std::vector<int64_t> x(kCount, 1);
  for (int i = 0;; ++i) {
    if (is_victim && i == 3) die(moment);
    if (is_late && i == 3 && moment == Moment::in_barrier) usleep(200'000);
    const wia_status_t status =
        i >= 3 && moment == Moment::in_barrier
            ? wia_barrier(w)
            : wia_all_reduce(x.data(), x.data(), kCount, WIA_INT64, WIA_OP_MAX, w, nullptr);
    if (status != WIA_SUCCESS) return status;
  }
}

class S13 : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(S13, IsNamedAtOnce) {
  const int victim = std::get<0>(GetParam());
  const auto moment = static_cast<Moment>(std::get<1>(GetParam()));
  const Results results = run_ranks(4, [=](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 60'000));
    const wia_status_t status = until_trouble(w, moment, me == victim, me == 3);
    std::printf("noticed at %.3f\n", seconds());
    WIA_CHECK(status == WIA_ERROR_PEER_FAILED);
    WIA_CHECK(says(("rank " + std::to_string(victim) + " (pid").c_str()) && tells_of_an_end());
    WIA_CHECK(says(moment == Moment::in_barrier ? "barrier" : "all_reduce of 2000000 int64"));
    const double before = cpu_seconds();
    usleep(200'000);
    WIA_CHECK(cpu_seconds() - before < 0.1);  // nothing spins
    WIA_CHECK(wia_barrier(w) == WIA_ERROR_PEER_FAILED);
    WIA_OK(wia_finalize());
    return 0;
  });
  const int codes[] = {137, 137, 137, 0, 128 + SIGTERM};
  for (int r = 0; r < 4; ++r) {
    const RankResult& result = results[static_cast<size_t>(r)];
    EXPECT_EQ(result.code, r == victim ? codes[static_cast<int>(moment)] : 0) << "rank " << r << result.text;
    double noticed = 0;
    if (r == victim) continue;
    EXPECT_EQ(std::sscanf(result.text.c_str(), "noticed at %lf", &noticed), 1) << result.text;
    EXPECT_LT(noticed - results[static_cast<size_t>(victim)].ended, 5) << "rank " << r;
  }
}

INSTANTIATE_TEST_SUITE_P(Field, S13, testing::Combine(testing::Values(0, 2), testing::Range(0, 5)),
                         [](const auto& parameter) {
                           return std::string(kMoments[std::get<1>(parameter.param)]) + "_rank_" +
                                  std::to_string(std::get<0>(parameter.param));
                         });

// Killed somewhere between its start and its first call: the others end in time, most often at once.
TEST(S13Death, DuringTheStart) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    const Results results = run_ranks(3, [attempt](int me) {
      setenv("WIA_INIT_TIMEOUT", "2", 1);
      const double began = seconds();
      if (me == 2)
        std::thread([attempt] {
          usleep(static_cast<useconds_t>(attempt * 600));
          raise(SIGKILL);
        }).detach();
      wia_communicator_t* w = nullptr;
      wia_status_t status = wia_init(&w);
      while (status == WIA_SUCCESS) status = wia_barrier(w);
      // The survivor that noticed it first may be missed by the other.
      WIA_CHECK(says("rank 2") || says(me == 0 ? "rank 1" : "rank 0"));
      WIA_CHECK(seconds() - began < 2 + 5);
      WIA_OK(wia_finalize());
      return 0;
    });
    EXPECT_EQ(results[0].code, 0) << results[0].text;
    EXPECT_EQ(results[1].code, 0) << results[1].text;
  }
}

// The same while communicators are made.
TEST(S13Death, WhileAGroupIsMade) {
  const Results results = run_ranks(3, [](int me) {
    wia_communicator_t *w = nullptr, *group = nullptr;
    WIA_RUN(start(&w, 60'000));
    if (me == 2) raise(SIGKILL);
    const double began = seconds();
    WIA_CHECK(wia_communicator_duplicate(w, &group) == WIA_ERROR_PEER_FAILED);
    WIA_CHECK(says("rank 2", "its process has ended") && seconds() - began < 5);
    WIA_OK(wia_finalize());
    return 0;
  });
  EXPECT_EQ(results[0].code, 0) << results[0].text;
  EXPECT_EQ(results[1].code, 0) << results[1].text;
}

// Who hears of the end from a rank that has left since still hears the reason.
TEST(S13, TheReasonOutlastsWhoeverSaysIt) {
  const Meeting rank_0_has_left(2);
  const Results results = run_ranks(3, [&](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 60'000));
    WIA_RUN(check_sum(w));
    if (me == 2) raise(SIGKILL);
    int64_t x = 1;
    if (me == 1) rank_0_has_left.arrive_and_wait();
    WIA_CHECK(wia_all_reduce(&x, &x, 1, WIA_INT64, WIA_OP_SUM, w, nullptr) == WIA_ERROR_PEER_FAILED);
    WIA_CHECK(says("rank 2"));
    if (me == 1) return 0;
    WIA_OK(wia_communicator_destroy(w));
    rank_0_has_left.arrive_and_wait();
    return 0;
  });
  EXPECT_EQ(results[0].code, 0) << results[0].text;
  EXPECT_EQ(results[1].code, 0) << results[1].text;
}

// What `wia run` below starts: sums until rank 2 dies.
TEST(DISABLED_Program, SumsUntilRankTwoDies) {
  wia_communicator_t* w = nullptr;
  ASSERT_EQ(wia_init(&w), WIA_SUCCESS) << wia_last_error_message();
  std::vector<int64_t> x(2'000'000, 1);
  for (int i = 0;; ++i) {
    if (wia_rank(w) == 2 && i == 3) raise(SIGKILL);
    if (wia_all_reduce(x.data(), x.data(), x.size(), WIA_INT64, WIA_OP_MAX, w, nullptr) != WIA_SUCCESS) break;
  }
  FAIL() << wia_last_error_message();
}

TEST(S13Death, EndsAJobUnderTheLauncher) {
  const double began = seconds();
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  Command job({"run", "-n", "4", "--", self, "--gtest_also_run_disabled_tests",
               "--gtest_filter=DISABLED_Program.SumsUntilRankTwoDies"});
  EXPECT_NE(job.wait(), 0);
  EXPECT_LT(seconds() - began, 10);
  EXPECT_TRUE(job.leaves_nothing());
  EXPECT_NE((job.output + job.error).find("rank 2"), std::string::npos) << job.output << job.error;
}

}  // namespace
}  // namespace wia::field
