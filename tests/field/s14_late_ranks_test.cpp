// Field case S14: a late rank is waited for, a timeout is the one that was set, and both say who is missing.
#include <atomic>
#include <random>
#include <thread>

#include "field/data.hpp"

namespace wia::field {
namespace {

TEST(S14, ALateStartIsWaitedFor) {
  const Results results = run_ranks(2, [](int me) {
    setenv("WIA_LATE_NOTICE", "1", 1);
    setenv("WIA_INIT_TIMEOUT", "10", 1);
    if (me == 1) usleep(2'200'000);
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    return check_sum(w);
  });
  expect_good(results);
  EXPECT_NE(results[0].text.find("rank 1"), std::string::npos) << results[0].text;
  EXPECT_EQ(results[0].text.find("has waited"), results[0].text.rfind("has waited")) << results[0].text;
}

TEST(S14, AMissingRankEndsTheStart) {
  Options options;
  options.world_size = 3;
  expect_good(run_ranks(
      2,
      [](int me) {
        setenv("WIA_INIT_TIMEOUT", "1.5", 1);
        const double began = seconds();
        wia_communicator_t* w = nullptr;
        WIA_CHECK(wia_init(&w) < 0 && seconds() - began < 1.5 + 5);
        WIA_CHECK(says("rank 2"));
        if (me == 0) WIA_CHECK(wia_last_error() == WIA_ERROR_TIMEOUT && says("1.5 s", "3 members"));
        return 0;
      },
      options));
}

TEST(S14, ALateCallIsWaitedForWithOneLine) {
  const Results results = run_ranks(2, [](int me) {
    setenv("WIA_LATE_NOTICE", "0.5", 1);
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 60'000));
    WIA_RUN(check_sum(w));
    if (me == 1) usleep(1'800'000);
    WIA_RUN(check_sum(w));
    // Asynchronous calls are watched by the thread that carries them on.
    int64_t x = 1;
    wia_request_t* request = nullptr;
    if (me == 1) usleep(1'200'000);
    WIA_OK(wia_all_reduce(&x, &x, 1, WIA_INT64, WIA_OP_SUM, w, &request));
    bool done = false;
    while (!done) WIA_OK(wia_request_test(request, &done));
    WIA_CHECK(x == 2);
    return 0;
  });
  expect_good(results);
  const std::string& text = results[0].text;
  const size_t first = text.find("rank 0 of world has waited");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_NE(text.find("call 2: all_reduce of 3 int64", first), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1", first), std::string::npos) << text;
  const size_t second = text.find("rank 0 of world has waited", first + 1);
  EXPECT_NE(text.find("call 3", second), std::string::npos) << text;
  EXPECT_EQ(text.find("has waited", second + 30), std::string::npos) << text;
}

// One rank waits in vain; the other lives on until it has reported.
void waits_in_vain(const std::function<int(wia_communicator_t*)>& wait) {
  Job job(2, [&](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 60'000));
    WIA_RUN(check_sum(w));
    while (me == 1) pause();
    const int code = wait(w);
    std::printf("rank 0 ends with %d\n", code);
    std::fflush(stdout);
    return code;
  });
  EXPECT_TRUE(job.shows(0, "rank 0 ends with 0"));
  job.kill_all();
  const Results& results = job.collect();
  if (::testing::Test::HasFailure()) std::fputs(results[0].text.c_str(), stderr);
}

TEST(S14, ACallEndsAtItsTimeout) {
  waits_in_vain([](wia_communicator_t* w) {
    WIA_OK(wia_communicator_set_timeout(w, 1200));
    const double began = seconds();
    WIA_CHECK(wia_barrier(w) == WIA_ERROR_TIMEOUT);
    const double took = seconds() - began;
    WIA_CHECK(took > 1.1 && took < 1.2 + 5);
    WIA_CHECK(says("rank 1", "call 2: barrier", "1.2 s", "wia_communicator_set_timeout"));
    return 0;
  });
}

// The wait's own limit leaves the call under way; the call's limit ends it.
TEST(S14, AWaitEndsAtItsOwnTimeout) {
  waits_in_vain([](wia_communicator_t* w) {
    int64_t x = 0;
    wia_request_t* request = nullptr;
    WIA_OK(wia_all_reduce(&x, &x, 1, WIA_INT64, WIA_OP_SUM, w, &request));
    double began = seconds();
    WIA_CHECK(wia_request_wait(request, 500) == WIA_IN_PROGRESS);
    WIA_CHECK(seconds() - began > 0.4 && seconds() - began < 0.5 + 5);
    WIA_CHECK(!wia_wait_timeout(request, 200));
    WIA_OK(wia_communicator_set_timeout(w, 2000));
    WIA_CHECK(wia_request_wait(request, -1) == WIA_ERROR_TIMEOUT &&
              says("rank 1", "call 2: all_reduce of 1"));
    WIA_CHECK(seconds() - began > 1 && seconds() - began < 2 + 5);
    return 0;
  });
}

// Also by another thread, while a call waits.
TEST(S14, ATimeoutMayBeChangedDuringAWait) {
  waits_in_vain([](wia_communicator_t* w) {
    std::atomic<wia_status_t> changed{WIA_IN_PROGRESS};
    const double began = seconds();
    std::thread thread([&] {
      usleep(300'000);
      changed = wia_communicator_set_timeout(w, 1000);
    });
    const wia_status_t status = wia_barrier(w);
    thread.join();
    WIA_CHECK(changed == WIA_SUCCESS && status == WIA_ERROR_TIMEOUT && says("rank 1"));
    WIA_CHECK(seconds() - began > 0.9 && seconds() - began < 1 + 5);
    return 0;
  });
}

TEST(S14, AReceiveEndsAtItsTimeout) {
  waits_in_vain([](wia_communicator_t* w) {
    WIA_OK(wia_communicator_set_timeout(w, 1000));
    int64_t x = 0;
    const double began = seconds();
    WIA_CHECK(wia_recv(&x, 1, WIA_INT64, 1, 7, w, nullptr) == WIA_ERROR_TIMEOUT);
    WIA_CHECK(seconds() - began > 0.9 && seconds() - began < 1 + 5);
    WIA_CHECK(says("1.0 s", "a receive of 8 bytes from rank 1 with tag 7", "has sent nothing"));
    return 0;
  });
}

TEST(S14, ManyStartsWithRandomDelays) {
  expect_good(run_ranks(
      4,
      [](int me) {
        std::minstd_rand random(static_cast<unsigned>(me + 1));
        for (int i = 0; i < 200; ++i) {
          usleep(random() % 20'000);
          wia_communicator_t* w = nullptr;
          if (start(&w) || check_sum(w)) {
            std::fprintf(stderr, "in start %d\n", i);
            return 1;
          }
          WIA_OK(wia_finalize());
        }
        return 0;
      },
      60));
}

}  // namespace
}  // namespace wia::field
