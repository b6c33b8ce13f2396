// Field case S08: ranks that make different calls are told so: on every rank, with both sides' calls.
#include "field/data.hpp"

namespace wia::field {
namespace {

struct Difference {
  const char* name;
  // The call of most ranks, and that of the odd one.
  std::function<wia_status_t(void*a, void*b, wia_communicator_t*w)> usual, odd;
  const char *usual_text, *odd_text;  // what the error has to say of either
};

std::vector<Difference> differences() {
  const auto all_reduce = [](size_t count, wia_dtype_t dtype, wia_op_t op) {
    return [=](void* a, void* b, wia_communicator_t* w) {
      return wia_all_reduce(a, b, count, dtype, op, w, nullptr);
    };
  };
  const auto broadcast = [](int root) {
    return [=](void* a, void*, wia_communicator_t* w) {
      return wia_broadcast_buffer(a, 100, WIA_FLOAT32, root, w, nullptr);
    };
  };
  const auto usual = all_reduce(100, WIA_FLOAT32, WIA_OP_SUM);
  return {
      {"large_counts", all_reduce(100 * 2560, WIA_FLOAT32, WIA_OP_SUM),
       all_reduce(200 * 2560, WIA_FLOAT32, WIA_OP_SUM), "all_reduce of 256000 float32, sum",
       "all_reduce of 512000 float32, sum"},
      {"small_counts", all_reduce(1, WIA_FLOAT32, WIA_OP_SUM), all_reduce(2, WIA_FLOAT32, WIA_OP_SUM),
       "all_reduce of 1 float32, sum", "all_reduce of 2 float32, sum"},
      {"types", usual, all_reduce(100, WIA_BFLOAT16, WIA_OP_SUM), "all_reduce of 100 float32, sum",
       "all_reduce of 100 bfloat16, sum"},
      {"collectives", usual, broadcast(1), "all_reduce of 100 float32, sum",
       "broadcast of 100 float32, root 1"},
      {"roots", broadcast(0), broadcast(1), "broadcast of 100 float32, root 0",
       "broadcast of 100 float32, root 1"},
      {"operations", usual, all_reduce(100, WIA_FLOAT32, WIA_OP_MAX), "all_reduce of 100 float32, sum",
       "all_reduce of 100 float32, max"},
  };
}

// Ranks, difference, WIA_STRICT.
class S08 : public testing::TestWithParam<std::tuple<int, size_t, bool>> {};

TEST_P(S08, IsNamedOnEveryRank) {
  const auto& [ranks, which, strict] = GetParam();
  const Difference difference = differences()[which];
  Meeting all_know(ranks);  // whoever ends before takes along what it has to say
  expect_good(run_ranks(ranks, [&, strict = strict](int me) {
    setenv("WIA_STRICT", strict ? "1" : "0", 1);
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 2000));
    WIA_RUN(check_sum(w));
    const int odd_rank = wia_size(w) - 1;
    Buffer<float> a(512'000), b(512'000);
    const double began = seconds();
    wia_status_t status = (me == odd_rank ? difference.odd : difference.usual)(a.data(), b.data(), w);
    // Ranks that have all the data of root 0 exchange nothing with the odd one: their next call tells them,
    // unless calls are strict. So does a root that has sent all, where a network takes it.
    if (!strict && std::strcmp(difference.name, "roots") == 0 && status == WIA_SUCCESS &&
        (me != 0 || over().network()) && me != odd_rank)
      status = wia_barrier(w);
    WIA_CHECK(status == WIA_ERROR_MISMATCH && seconds() - began < 2 + 5);
    WIA_CHECK(says(("rank " + std::to_string(odd_rank)).c_str(), "call 2"));
    WIA_CHECK(says(difference.usual_text, difference.odd_text));
    WIA_CHECK(a.intact() && b.intact());
    const std::string reason = wia_last_error_message();
    WIA_CHECK(wia_barrier(w) == WIA_ERROR_MISMATCH && wia_last_error_message() == reason);
    WIA_CHECK(wia_communicator_status(w) == WIA_ERROR_MISMATCH);
    all_know.arrive_and_wait();
    return 0;
  }));
}

INSTANTIATE_TEST_SUITE_P(Field, S08,
                         testing::Combine(testing::Values(2, 4), testing::Range<size_t>(0, 6),
                                          testing::Bool()),
                         [](const auto& parameter) {
                           return std::string(differences()[std::get<1>(parameter.param)].name) + "_on_" +
                                  std::to_string(std::get<0>(parameter.param)) +
                                  (std::get<2>(parameter.param) ? "_strict" : "");
                         });

// Also where the difference is a whole number of slices (8192 elements).
TEST(S08Counts, WhatIsSentAndWhatIsExpectedDiffer) {
  const size_t pairs[][2] = {{3, 2},         {2, 3},         {24'576, 16'384}, {16'384, 24'576},
                             {8192, 16'384}, {16'384, 8192}, {1, 0},           {0, 1},
                             {8192, 0},      {0, 8192},      {100'000, 99'999}};
  for (const auto& pair : pairs)
    for (const char* algorithm : {"direct", "pairwise"})
      expect_good(run_ranks(2, [&](int me) {
        wia_communicator_t* w = nullptr;
        WIA_RUN(start(&w, 2000));
        WIA_OK(wia_communicator_set_algorithm(w, "all_to_all", algorithm));
        Buffer<> in(100'010), out(100'010);
        in.fill(me);
        // Rank 0 sends pair[0] to rank 1, which expects pair[1].
        const size_t sent[] = {5, me == 0 ? pair[0] : 5}, received[] = {me == 1 ? pair[1] : 5, 5};
        const double began = seconds();
        wia_status_t status =
            wia_all_to_all_v(in.data(), sent, nullptr, out.data(), received, nullptr, WIA_INT64, w, nullptr);
        if (me == 0 && status == WIA_SUCCESS) status = wia_barrier(w);  // it has sent and got all it wanted
        WIA_CHECK(status == WIA_ERROR_MISMATCH && seconds() - began < 2 + 5);
        WIA_CHECK(says("rank 0 sent"));
        WIA_CHECK(out.intact());
        return 0;
      }));
}

TEST(S08Order, OneCallMoreNamesWhoIsMissing) {
  Job job(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 1000));
    WIA_RUN(check_sum(w));
    while (me == 1) pause();  // alive, and never enters the second call
    const double began = seconds();
    WIA_CHECK(wia_barrier(w) == WIA_ERROR_TIMEOUT && seconds() - began < 1 + 5);
    WIA_CHECK(says("rank 1", "call 2: barrier", "1.0 s", "its last was call 1: all_reduce of 3 int64"));
    std::puts("rank 0 is done");
    std::fflush(stdout);
    return 0;
  });
  EXPECT_TRUE(job.shows(0, "rank 0 is done"));
  job.kill_all();
}

// A, B on one rank and B, A on the other: the calls wait for one another for good.
TEST(S08Order, TwoCommunicatorsInDifferentOrder) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t *w = nullptr, *a = nullptr, *b = nullptr;
    WIA_RUN(start(&w));
    WIA_OK(wia_communicator_duplicate(w, &a));
    WIA_OK(wia_communicator_duplicate(w, &b));
    // Asynchronous calls on different communicators are free in their order.
    wia_request_t *first = nullptr, *second = nullptr;
    Buffer<> x(1000), y(1000);
    x.fill(me), y.fill(me);
    auto* const one = me ? b : a;
    auto* const two = me ? a : b;
    WIA_OK(wia_all_reduce(x.data(), x.data(), 1000, WIA_INT64, WIA_OP_SUM, one, &first));
    WIA_OK(wia_all_reduce(y.data(), y.data(), 1000, WIA_INT64, WIA_OP_SUM, two, &second));
    WIA_OK(wia_request_wait(first, -1));
    WIA_OK(wia_request_wait(second, -1));
    for (size_t i = 0; i < 1000; ++i) WIA_CHECK(x.get(i) == sum(2, i) && y.get(i) == sum(2, i));
    // Blocking ones are not.
    WIA_OK(wia_communicator_set_timeout(a, 1000));
    WIA_OK(wia_communicator_set_timeout(b, 1000));
    const double began = seconds();
    const wia_status_t status = wia_barrier(one);
    WIA_CHECK(status == WIA_ERROR_TIMEOUT && seconds() - began < 1 + 5);
    WIA_CHECK(says(me ? "rank 0" : "rank 1", "call 2: barrier"));
    return check_sum(w);
  }));
}

}  // namespace
}  // namespace wia::field
