// Field case S19: every way out is clean: without destroy, by an exception, out of a call, and over again.
#include <stdexcept>

#include "field/data.hpp"

namespace wia::field {
namespace {

void expect_quiet(const Results& results) {
  for (const RankResult& result : results)
    for (const char* word : {"terminate", "abort", "double free", "Segmentation"})
      EXPECT_EQ(result.text.find(word), std::string::npos) << result.text;
}

TEST(S19, ReturnsFromMainWithoutDestroy) {
  const double began = seconds();
  const Results results = run_ranks(3, [](int me) {
    wia_communicator_t *w = nullptr, *group = nullptr;
    WIA_RUN(start(&w));
    WIA_OK(wia_communicator_duplicate(w, &group));
    wia_request_t* request = nullptr;
    WIA_OK(wia_barrier_async(group, &request));  // starts the progress thread
    WIA_OK(wia_request_wait(request, -1));
    WIA_RUN(check_sum(w, 100'000));
    std::exit(me);  // as return from main: destructors and exit handlers run
  });
  EXPECT_LT(seconds() - began, 5);
  for (int r = 0; r < 3; ++r) EXPECT_EQ(results[static_cast<size_t>(r)].code, r);
  expect_quiet(results);
}

// Rank 2 never joins in, so that the collective cannot end well before the abort.
TEST(S19, AnExceptionDuringACollective) {
  const double began = seconds();
  const Results results = run_ranks(3, [began](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 60'000));
    WIA_RUN(check_sum(w));
    try {
      Buffer<> x(100'000);
      wia_request_t* request = nullptr;
      if (me == 0) WIA_OK(wia_all_reduce(x.data(), x.data(), 100'000, WIA_INT64, WIA_OP_SUM, w, &request));
      if (me == 0) WIA_OK(wia_communicator_abort(w));
      if (me == 0) throw std::runtime_error("the program's own trouble");
      while (me == 2 && wia_communicator_status(w) == WIA_SUCCESS && seconds() - began < 20) usleep(1'000);
      WIA_CHECK(wia_all_reduce(x.data(), x.data(), 100'000, WIA_INT64, WIA_OP_SUM, w, nullptr) ==
                WIA_ERROR_ABORTED);
      WIA_CHECK(says("aborted by rank 0"));
    } catch (const std::runtime_error&) {
      WIA_CHECK(me == 0);
    }
    WIA_CHECK(wia_barrier(w) == WIA_ERROR_ABORTED);
    std::exit(0);
  });
  expect_good(results);
  expect_quiet(results);
  EXPECT_LT(seconds() - began, 5);
}

TEST(S19, OnlyOneRankDestroys) {
  const double began = seconds();
  expect_good(run_ranks(3, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 60'000));
    WIA_RUN(check_sum(w));
    if (me == 1) {
      WIA_OK(wia_communicator_destroy(w));
      return 0;
    }
    // Over a network only those hear it who are connected.
    WIA_CHECK(wia_barrier(w) == WIA_ERROR_PEER_FAILED && says("rank 1"));
    WIA_CHECK(says("has left the communicator") || over().network());
    return 0;
  }));
  EXPECT_LT(seconds() - began, 5);
}

TEST(S19, DestroyWithACallUnderWay) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t *w = nullptr, *group = nullptr;
    WIA_RUN(start(&w, 60'000));
    WIA_OK(wia_communicator_duplicate(w, &group));
    if (me == 0) {  // rank 1 never enters these
      int64_t x = 0, y = 0;
      wia_request_t *sum = nullptr, *message = nullptr;
      WIA_OK(wia_all_reduce(&x, &x, 1, WIA_INT64, WIA_OP_SUM, group, &sum));
      WIA_OK(wia_recv(&y, 1, WIA_INT64, 1, 0, group, &message));
      const double began = seconds();
      WIA_OK(wia_communicator_destroy(group));
      WIA_CHECK(wia_request_wait(sum, -1) == WIA_ERROR_DESTROYED);
      WIA_CHECK(wia_request_wait(message, -1) == WIA_ERROR_DESTROYED);
      WIA_CHECK(seconds() - began < 1);
    }
    WIA_RUN(check_sum(w));
    WIA_OK(wia_finalize());
    return 0;
  }));
}

TEST(S19, DestroyAfterAPeerDied) {
  const Results results = run_ranks(3, [](int me) {
    wia_communicator_t *w = nullptr, *group = nullptr;
    WIA_RUN(start(&w, 60'000));
    WIA_OK(wia_communicator_duplicate(w, &group));
    WIA_RUN(check_sum(group));
    if (me == 2) raise(SIGKILL);
    const double began = seconds();
    int64_t x = 0;
    wia_request_t* request = nullptr;
    if (me == 0) WIA_OK(wia_all_reduce(&x, &x, 1, WIA_INT64, WIA_OP_SUM, group, &request));
    WIA_OK(wia_communicator_destroy(group));
    if (request) WIA_CHECK(wia_request_wait(request, -1) < 0);
    WIA_OK(wia_finalize());
    WIA_CHECK(seconds() - began < 5);
    return 0;
  });
  EXPECT_EQ(results[0].code, 0) << results[0].text;
  EXPECT_EQ(results[1].code, 0) << results[1].text;
}

TEST(S19, TwiceAndAfterwards) {
  expect_good(run_ranks(2, [](int) {
    wia_communicator_t *w = nullptr, *group = nullptr;
    WIA_RUN(start(&w));
    WIA_OK(wia_communicator_duplicate(w, &group));
    WIA_OK(wia_communicator_destroy(group));
    WIA_OK(wia_communicator_destroy(group));
    WIA_OK(wia_communicator_abort(group));
    int64_t x = 0;
    wia_communicator_t* out = nullptr;
    WIA_CHECK(wia_barrier(group) == WIA_ERROR_DESTROYED && says("has been destroyed"));
    WIA_CHECK(wia_send(&x, 1, WIA_INT64, 0, 0, group, nullptr) == WIA_ERROR_DESTROYED);
    WIA_CHECK(wia_communicator_duplicate(group, &out) == WIA_ERROR_DESTROYED);
    WIA_CHECK(wia_communicator_status(group) == WIA_ERROR_DESTROYED && wia_rank(group) == -1);
    WIA_CHECK(wia_communicator_set_timeout(group, 5) == WIA_ERROR_DESTROYED);
    WIA_RUN(check_sum(w));
    WIA_OK(wia_finalize());
    WIA_OK(wia_finalize());
    WIA_CHECK(wia_barrier(w) == WIA_ERROR_DESTROYED);
    return 0;
  }));
}

// Rank 0 serves the store of this job, and has nothing more to do.
TEST(S19, TheOthersGoOnAfterRankZeroHasFinished) {
  expect_good(run_ranks(3, [](int me) {
    wia_communicator_t *w = nullptr, *group = nullptr;
    WIA_RUN(start(&w, 60'000));
    if (me > 0) {
      usleep(300'000);
      const int members[] = {1, 2};
      group = wia_create_sub_communicator(w, members, 2);
      WIA_CHECK(group);
      WIA_RUN(check_sum(group));
    }
    WIA_OK(wia_finalize());
    return 0;
  }));
}

TEST(S19, FiftyStartsInOneProcess) {
  expect_good(run_ranks(3, [](int me) {
    for (int i = 0; i < 50; ++i) {
      wia_communicator_t *w = nullptr, *again = nullptr;
      WIA_RUN(start(&w, 20'000));
      WIA_OK(wia_init(&again));
      WIA_CHECK(again == w);
      Buffer<> x(200, true);  // lives on beyond the world that it was used in
      x.fill(me);
      WIA_OK(wia_all_reduce(x.data(), x.data(), 200, WIA_INT64, WIA_OP_SUM, w, nullptr));
      WIA_OK(wia_finalize());
      for (size_t k = 0; k < 200; ++k) WIA_CHECK(x.get(k) == sum(3, k));
    }
    return 0;
  }));
}

}  // namespace
}  // namespace wia::field
