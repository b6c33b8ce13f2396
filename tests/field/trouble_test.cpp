// Field cases S08, S09, S10, S13, S14, S17, S18, S19, S20: errors that are prompt, name the culprit, and
// leave nothing behind.
#include <gtest/gtest.h>

#include <cstring>

#include "field/ranks.hpp"

namespace wia::field {
namespace {

constexpr auto kType = WIA_INT64;

bool says(const char* text) { return std::strstr(wia_last_error_message(), text) != nullptr; }

int start(wia_communicator_t** w, int64_t timeout_ms = 2000) {
  WIA_CHECK(wia_init(w) == WIA_SUCCESS);
  return wia_communicator_set_timeout(*w, timeout_ms) == WIA_SUCCESS ? 0 : 1;
}

int check_sum(wia_communicator_t* w) {
  int64_t x[3];
  for (size_t i = 0; i < 3; ++i) x[i] = value(wia_rank(w), i);
  WIA_CHECK(wia_all_reduce(x, x, 3, kType, WIA_OP_SUM, w, nullptr) == WIA_SUCCESS);
  for (size_t i = 0; i < 3; ++i) WIA_CHECK(x[i] == sum(wia_size(w), i));
  return 0;
}

class S08 : public testing::TestWithParam<int> {};

TEST_P(S08, DifferentCallsAreNamedOnEveryRank) {
  const int which = GetParam();
  const Outcome outcome = run_ranks(4, [which](int me) {
    wia_communicator_t* w = nullptr;
    if (start(&w)) return 1;
    if (check_sum(w)) return 1;
    std::vector<float> a(300'000), b(300'000);
    const bool odd = me == 3;
    wia_status_t status = WIA_SUCCESS;
    switch (which) {
      case 0:
        status = wia_all_reduce(a.data(), b.data(), odd ? 200 * 1000 : 100 * 1000, WIA_FLOAT32, WIA_OP_SUM, w,
                                nullptr);
        break;
      case 1:
        status = wia_all_reduce(a.data(), b.data(), odd ? 2 : 1, WIA_FLOAT32, WIA_OP_SUM, w, nullptr);
        break;
      case 2:
        status =
            wia_all_reduce(a.data(), b.data(), 100, odd ? WIA_BFLOAT16 : WIA_FLOAT32, WIA_OP_SUM, w, nullptr);
        break;
      case 3:
        status = odd ? wia_broadcast_buffer(a.data(), 100, WIA_FLOAT32, 3, w, nullptr)
                     : wia_all_reduce(a.data(), b.data(), 100, WIA_FLOAT32, WIA_OP_SUM, w, nullptr);
        break;
      case 4:
        status = wia_broadcast_buffer(a.data(), 100, WIA_FLOAT32, odd ? 3 : 0, w, nullptr);
        break;
      default:
        status =
            wia_all_reduce(a.data(), b.data(), 100, WIA_FLOAT32, odd ? WIA_OP_MAX : WIA_OP_SUM, w, nullptr);
    }
    // Ranks 1 and 2 have the data of root 0 and exchange nothing with rank 3: they learn of it with their
    // next call.
    if (which == 4 && (me == 1 || me == 2) && status == WIA_SUCCESS) status = wia_barrier(w);
    WIA_CHECK(status == WIA_ERROR_MISMATCH);
    WIA_CHECK(says("call 2") && says("of 1") + says("of 2") > 0 && says("rank 3"));
    WIA_CHECK(wia_barrier(w) == WIA_ERROR_MISMATCH);  // the same reason from now on
    return 0;
  });
  EXPECT_EQ(outcome, Outcome(4, 0));
}

INSTANTIATE_TEST_SUITE_P(Field, S08, testing::Range(0, 6));

TEST(Field, S08OneCallMoreNamesWhoIsMissing) {
  EXPECT_EQ(run_ranks(2,
                      [](int me) {
                        wia_communicator_t* w = nullptr;
                        if (start(&w, 1000)) return 1;
                        if (check_sum(w)) return 1;
                        if (me == 1) {
                          sleep(2);
                          return 0;
                        }
                        WIA_CHECK(wia_barrier(w) == WIA_ERROR_TIMEOUT && says("rank 1") && says("call 2") &&
                                  says("barrier"));
                        return 0;
                      }),
            (Outcome{0, 0}));
}

TEST(Field, S09BadArgumentsAreLocal) {
  EXPECT_EQ(
      run_ranks(2,
                [](int) {
                  wia_communicator_t* w = nullptr;
                  if (start(&w)) return 1;
                  int64_t x[4] = {};
                  for (const int root : {-1, 2, 2147483647}) {
                    WIA_CHECK(wia_broadcast_buffer(x, 1, kType, root, w, nullptr) ==
                                  WIA_ERROR_INVALID_ARGUMENT &&
                              says("root") && says("0 to 1"));
                    WIA_CHECK(wia_send(x, 1, kType, root, 0, w, nullptr) == WIA_ERROR_INVALID_ARGUMENT &&
                              says("to is"));
                  }
                  WIA_CHECK(wia_all_reduce(x, x, static_cast<size_t>(-1), kType, WIA_OP_SUM, w, nullptr) ==
                                WIA_ERROR_INVALID_ARGUMENT &&
                            says("-1"));
                  WIA_CHECK(wia_all_reduce(nullptr, x, 5, kType, WIA_OP_SUM, w, nullptr) ==
                                WIA_ERROR_INVALID_ARGUMENT &&
                            says("send is NULL"));
                  WIA_CHECK(wia_all_reduce(x, x, 1, static_cast<wia_dtype_t>(99), WIA_OP_SUM, w, nullptr) ==
                                WIA_ERROR_INVALID_ARGUMENT &&
                            says("dtype"));
                  WIA_CHECK(wia_all_reduce(x, x, 1, kType, static_cast<wia_op_t>(99), w, nullptr) ==
                                WIA_ERROR_INVALID_ARGUMENT &&
                            says("op"));
                  WIA_CHECK(wia_all_reduce(x, x + 1, 3, kType, WIA_OP_SUM, w, nullptr) ==
                                WIA_ERROR_INVALID_ARGUMENT &&
                            says("overlap"));
                  WIA_CHECK(wia_all_reduce(x, x, 1, kType, WIA_OP_SUM, nullptr, nullptr) ==
                                WIA_ERROR_INVALID_ARGUMENT &&
                            says("comm is NULL"));
                  WIA_CHECK(wia_communicator_set_timeout(w, 0) == WIA_ERROR_INVALID_ARGUMENT);
                  return check_sum(w);
                }),
      (Outcome{0, 0}));
}

TEST(Field, S10SubGroups) {
  EXPECT_EQ(
      run_ranks(4,
                [](int me) {
                  wia_communicator_t *w = nullptr, *pair = nullptr, *row = nullptr, *column = nullptr,
                                     *bad = nullptr;
                  if (start(&w)) return 1;
                  const int outer[] = {0, 3}, inner[] = {1, 2};
                  WIA_CHECK(wia_communicator_create(w, me % 3 ? inner : outer, 2, &pair) == WIA_SUCCESS);
                  WIA_CHECK(wia_communicator_split(w, me / 2, me, &row) == WIA_SUCCESS &&
                            wia_communicator_split(w, me % 2, -me, &column) == WIA_SUCCESS);
                  for (auto* comm : {pair, row, column})
                    if (check_sum(comm)) return 1;
                  WIA_CHECK(wia_rank(column) == (me < 2 ? 1 : 0));  // ordered by key
                  for (int i = 0; i < 64; ++i) {
                    wia_communicator_t* group = nullptr;
                    WIA_CHECK(wia_communicator_duplicate(pair, &group) == WIA_SUCCESS);
                    if (check_sum(group)) return 1;
                  }
                  const int twice[] = {0, 0, 1}, outside[] = {0, 9};
                  WIA_CHECK(wia_communicator_create(w, twice, 3, &bad) == WIA_ERROR_INVALID_ARGUMENT &&
                            says("0 twice"));
                  WIA_CHECK(wia_communicator_create(w, outside, 2, &bad) == WIA_ERROR_INVALID_ARGUMENT &&
                            says("9"));
                  WIA_CHECK(wia_communicator_create(w, twice, 0, &bad) == WIA_ERROR_INVALID_ARGUMENT);
                  return check_sum(w);
                }),
      (Outcome{0, 0, 0, 0}));
}

class S13 : public testing::TestWithParam<int> {};

TEST_P(S13, ADeadRankIsNamedAtOnce) {
  const int victim = GetParam();
  const Outcome outcome = run_ranks(4, [victim](int me) {
    wia_communicator_t* w = nullptr;
    if (start(&w, 60'000)) return 1;
    std::vector<int64_t> x(2'000'000, 1);
    for (int i = 0;; ++i) {
      if (me == victim && i == 3) raise(SIGKILL);
      const double began = seconds();
      const wia_status_t status = wia_all_reduce(x.data(), x.data(), x.size(), kType, WIA_OP_MAX, w, nullptr);
      if (status == WIA_SUCCESS) continue;
      WIA_CHECK(status == WIA_ERROR_PEER_FAILED && says(("rank " + std::to_string(victim)).c_str()));
      WIA_CHECK(seconds() - began < 5);
      return 0;
    }
  });
  for (int r = 0; r < 4; ++r)
    EXPECT_EQ(outcome[static_cast<size_t>(r)], r == victim ? 128 + SIGKILL : 0) << "rank " << r;
}

INSTANTIATE_TEST_SUITE_P(Field, S13, testing::Values(0, 2));

TEST(Field, S14ALateRankIsWaitedFor) {
  EXPECT_EQ(run_ranks(2,
                      [](int me) {
                        if (me == 1) usleep(700'000);  // also for the start
                        wia_communicator_t* w = nullptr;
                        if (start(&w, 10'000)) return 1;
                        if (me == 1) usleep(1'500'000);
                        return check_sum(w);
                      }),
            (Outcome{0, 0}));
}

TEST(Field, S14TheTimeoutIsTheOneThatWasSet) {
  EXPECT_EQ(run_ranks(2,
                      [](int me) {
                        wia_communicator_t* w = nullptr;
                        if (start(&w, 60'000)) return 1;
                        if (me == 1) {
                          sleep(4);
                          return 0;
                        }
                        WIA_CHECK(wia_communicator_set_timeout(w, 1500) == WIA_SUCCESS);
                        int64_t x = 0;
                        wia_request_t* request = nullptr;
                        WIA_CHECK(wia_all_reduce(&x, &x, 1, kType, WIA_OP_SUM, w, &request) == WIA_SUCCESS);
                        const double began = seconds();
                        WIA_CHECK(wia_request_wait(request, 300) == WIA_IN_PROGRESS && seconds() - began < 1);
                        WIA_CHECK(wia_request_wait(request, -1) == WIA_ERROR_TIMEOUT && says("rank 1"));
                        const double took = seconds() - began;
                        WIA_CHECK(took > 1 && took < 1.5 + 5);
                        return 0;
                      }),
            (Outcome{0, 0}));
}

size_t resident_pages() {
  size_t size = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file || std::fscanf(file, "%zu %zu", &size, &resident) != 2) resident = 0;
  if (file) std::fclose(file);
  return resident;
}

TEST(Field, S18CommunicatorsLeaveNothingBehind) {
  EXPECT_EQ(run_ranks(2,
                      [](int) {
                        wia_communicator_t* w = nullptr;
                        if (start(&w, 20'000)) return 1;
                        size_t before = 0;
                        for (int i = 0; i < 500; ++i) {
                          wia_communicator_t* comm = nullptr;
                          WIA_CHECK(wia_communicator_duplicate(w, &comm) == WIA_SUCCESS);
                          if (check_sum(comm)) return 1;
                          WIA_CHECK(wia_communicator_destroy(comm) == WIA_SUCCESS &&
                                    wia_communicator_destroy(comm) == WIA_SUCCESS);
                          WIA_CHECK(wia_barrier(comm) == WIA_ERROR_DESTROYED);
                          if (i == 20) before = resident_pages();
                        }
                        WIA_CHECK(resident_pages() < before + (5 << 20) / 4096);
                        return check_sum(w);
                      }),
            (Outcome{0, 0}));
}

TEST(Field, S19StartedOverAndOver) {
  EXPECT_EQ(run_ranks(2,
                      [](int) {
                        for (int i = 0; i < 50; ++i) {
                          wia_communicator_t* w = nullptr;
                          if (start(&w, 20'000)) return 1;
                          if (check_sum(w)) return 1;
                          WIA_CHECK(wia_finalize() == WIA_SUCCESS && wia_finalize() == WIA_SUCCESS);
                        }
                        return 0;
                      }),
            (Outcome{0, 0}));
}

TEST(Field, S20ForkedChildrenChangeNothing) {
  EXPECT_EQ(run_ranks(2,
                      [](int) {
                        wia_communicator_t* w = nullptr;
                        if (start(&w)) return 1;
                        if (check_sum(w)) return 1;
                        std::vector<pid_t> children;
                        for (int c = 0; c < 4; ++c) {
                          const pid_t child = fork();
                          if (child == 0) {
                            const bool refused = wia_barrier(w) == WIA_ERROR_FORKED;
                            if (c % 2) std::exit(refused ? 0 : 1);  // exit handlers run
                            _exit(refused ? 0 : 1);
                          }
                          children.push_back(child);
                        }
                        for (int i = 0; i < 100; ++i)
                          if (check_sum(w)) return 1;
                        for (const pid_t child : children) {
                          int status = 1;
                          waitpid(child, &status, 0);
                          WIA_CHECK(status == 0);
                        }
                        return check_sum(w);
                      }),
            (Outcome{0, 0}));
}

}  // namespace
}  // namespace wia::field
