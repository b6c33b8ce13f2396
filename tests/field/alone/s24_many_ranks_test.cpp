// Field case S24: more ranks than cores, one core for all, a CPU quota, and idle ranks. Times are printed; a
// test fails only where waiting collapses, at several times the limit of the case.
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>

#include "field/data.hpp"

namespace wia::field {
namespace {

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

int barriers_and_sums(int me, double limit_s) {
  wia_communicator_t* w = nullptr;
  WIA_RUN(start(&w, 60'000));
  WIA_OK(wia_barrier(w));
  double began = seconds();
  for (int i = 0; i < 1000; ++i) WIA_OK(wia_barrier(w));
  const double barriers = seconds() - began;
  began = seconds();
  for (int i = 0; i < 1000; ++i) WIA_RUN(check_sum(w, 128));
  const double sums = seconds() - began;
  if (me == 0) std::printf("1000 barriers %.3f s, 1000 x 1 KB all-reduce %.3f s\n", barriers, sums);
  WIA_CHECK(barriers < limit_s && sums < limit_s);
  return 0;
}

class S24 : public testing::TestWithParam<std::pair<int, double>> {};

TEST_P(S24, MoreRanksThanCores) {
  const auto [ranks, limit_s] = GetParam();
  const Results results = run_ranks(
      ranks, [limit = limit_s](int me) { return barriers_and_sums(me, limit); }, 120);
  expect_good(results);
  std::printf("%d ranks: %s", ranks, results[0].text.c_str());
}

// Of the case: 8 ranks 2 s, 16 ranks 6 s.
INSTANTIATE_TEST_SUITE_P(Field, S24,
                         testing::Values(std::pair(2, 5.0), std::pair(4, 8.0), std::pair(8, 10.0),
                                         std::pair(16, 30.0)));

TEST(S24Cpus, OneCoreForFourRanks) {
  const Results results = run_ranks(
      4,
      [](int me) {
        cpu_set_t first;
        CPU_ZERO(&first);
        cpu_set_t allowed;
        sched_getaffinity(0, sizeof allowed, &allowed);
        for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&first) == 0; ++cpu)
          if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &first);
        WIA_CHECK(sched_setaffinity(0, sizeof first, &first) == 0);
        return barriers_and_sums(me, 20);
      },
      90);
  expect_good(results);
  std::printf("one core: %s", results[0].text.c_str());
}

// A control group of its own (version 1) with a fifth of a CPU; empty where that cannot be made.
std::string make_quota_group() {
  for (const char* base : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
    const std::string folder = std::string(base) + "/field_s24_" + std::to_string(getpid());
    if (mkdir(folder.c_str(), 0755) != 0) continue;
    std::ofstream(folder + "/cpu.cfs_period_us") << 100'000;
    std::ofstream(folder + "/cpu.cfs_quota_us") << 20'000;
    long quota = 0;
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    if (quota == 20'000) return folder;
    rmdir(folder.c_str());
  }
  return "";
}

TEST(S24Cpus, AFifthOfACpu) {
  const std::string group = make_quota_group();
  if (group.empty()) GTEST_SKIP() << "no control group of version 1 for the CPU can be made here (root)";
  const Results results = run_ranks(
      2,
      [&](int me) {
        std::ofstream(group + "/tasks") << getpid() << std::flush;
        wia_communicator_t* w = nullptr;
        WIA_RUN(start(&w, 60'000));
        const double began = seconds();
        for (int i = 0; i < 100; ++i) {
          std::vector<int64_t> x(131'072, me + i);
          WIA_OK(wia_all_reduce(x.data(), x.data(), x.size(), WIA_INT64, WIA_OP_SUM, w, nullptr));
          for (const int64_t y : x) WIA_CHECK(y == 2 * i + 1);
        }
        if (me == 0) std::printf("100 x 1 MB with a fifth of a CPU: %.3f s\n", seconds() - began);
        WIA_CHECK(seconds() - began < 30);
        return 0;
      },
      60);
  rmdir(group.c_str());
  expect_good(results);
  std::printf("%s", results[0].text.c_str());
}

TEST(S24Cpus, IdleRanksTakeNothing) {
  expect_good(run_ranks(4, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    WIA_RUN(check_sum(w));
    wia_request_t* request = nullptr;
    WIA_OK(wia_barrier_async(w, &request));  // with a progress thread
    WIA_OK(wia_request_wait(request, -1));
    const double before = cpu_seconds();
    usleep(3'000'000);  // this is what is measured
    const double share = (cpu_seconds() - before) / 3;
    if (me == 0) std::printf("idle: %.2f %% of a CPU\n", share * 100);
    WIA_CHECK(share < 0.02);
    return check_sum(w);
  }));
}

// Waiting for a late rank is no work either, once it is long.
TEST(S24Cpus, WaitingRanksSleep) {
  expect_good(run_ranks(4, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    WIA_RUN(check_sum(w));
    if (me == 3) usleep(2'000'000);
    const double before = cpu_seconds();
    WIA_RUN(check_sum(w));
    WIA_CHECK(cpu_seconds() - before < 0.2);
    return 0;
  }));
}

}  // namespace
}  // namespace wia::field
