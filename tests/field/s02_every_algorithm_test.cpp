// Field case S02: every algorithm is exact for rank counts that are no powers of two, for counts around every
// border, and for every root.
#include "field/collectives.hpp"

namespace wia::field {
namespace {

class S02 : public testing::TestWithParam<int> {};

TEST_P(S02, EveryAlgorithmEveryRootOddCounts) {
  expect_good(run_ranks(
      GetParam(),
      [](int) {
        wia_communicator_t* w = nullptr;
        WIA_RUN(start(&w, 60'000));
        const auto n = static_cast<size_t>(wia_size(w));
        const size_t chunk = 8192;  // elements of 64 KiB, the longest slice
        for (const Algorithm& algorithm : all_algorithms()) {
          WIA_RUN(use(w, algorithm));
          for (const bool shared : {false, true}) {
            for (const size_t count : {size_t{1}, n - 1, n, n + 1, 2 * n + 1, size_t{1000}, chunk - 1, chunk,
                                       chunk + 1, 3 * chunk + 7})
              if (check_roots(w, {algorithm.collective, count, 0, shared})) {
                std::fprintf(stderr, "with algorithm %s\n", algorithm.name);
                return 1;
              }
          }
        }
        return 0;
      },
      120));
}

INSTANTIATE_TEST_SUITE_P(Field, S02, testing::Values(1, 2, 3, 5, 6, 7));

// The sums that the case names.
TEST(S02Values, TheValuesOfTheCase) {
  const int64_t wanted[][5] = {{3, 2854290, 2878047, 2901804, 1445466},
                               {5, 4514285, 4553880, 4593475, 2166245},
                               {6, 5271423, 5318937, 5366451, 2453775},
                               {7, 5979988, 6035421, 6090854, 2692732}};
  for (const auto& row : wanted) {
    const size_t places[] = {0, 1, 2, 1000};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(sum(static_cast<int>(row[0]), places[i]), row[i + 1]);
  }
}

// Levels inside or outside of the nodes, with algorithms of their own.
TEST(S02Values, LevelsOfTheMachine) {
  expect_good(run_ranks(7, [](int) {
    setenv("WIA_LEVELS", over().network() ? "node,4" : "2,4,node", 1);
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 60'000));
    const std::pair<Collective, const char*> all[] = {
        {Collective::all_reduce, "hierarchical"},
        {Collective::all_reduce, "hierarchical:direct:ring:recursive_doubling"},
        {Collective::all_reduce, "hierarchical:ring:pairwise:halving_doubling"},
        {Collective::all_gather, "hierarchical"},
        {Collective::all_gather, "hierarchical:ring:direct:halving_doubling"},
        {Collective::reduce_scatter, "hierarchical:halving_doubling:ring:direct"},
        {Collective::broadcast, "hierarchical"},
        {Collective::broadcast, "hierarchical:ring:direct:chain"},
        {Collective::reduce, "hierarchical:pairwise:ring:chain"},
        {Collective::all_to_all, "hierarchical"},
        {Collective::barrier, "hierarchical"}};
    for (const auto& [collective, name] : all) {
      auto algorithm = find_algorithm(collective, name);
      WIA_CHECK(algorithm.ok());
      WIA_RUN(use(w, **algorithm));
      for (const size_t count : {size_t{1}, size_t{1000}, size_t{3 * 8192 + 7}}) {
        if (!check_roots(w, {collective, count, 0, false})) continue;
        std::fprintf(stderr, "with algorithm %s\n", name);
        return 1;
      }
    }
    WIA_CHECK(wia_communicator_set_algorithm(w, "all_reduce", "hierarchical:chain") ==
              WIA_ERROR_INVALID_ARGUMENT);
    WIA_CHECK(says("chain", "recursive_doubling"));
    return 0;
  }));
}

TEST(S02Values, LevelsThatDoNotNest) {
  const auto results = run_ranks(4, [](int) {
    setenv("WIA_LEVELS", over().network() ? "3,node" : "2,3,node", 1);
    wia_communicator_t* w = nullptr;
    WIA_CHECK(wia_init(&w) == WIA_ERROR_INVALID_ARGUMENT && says("WIA_LEVELS", "share a unit"));
    return 0;
  });
  expect_good(results);
}

TEST(S02Values, SlicesAndNicsThatAreNamed) {
  expect_good(run_ranks(4, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (const char* name :
         {"ring/slice=64", "ring/nics=1", "two_phase/slice=1M/nics=2", "ring/slice=16K/nics=1"}) {
      WIA_OK(wia_communicator_set_algorithm(w, "all_reduce", name));
      for (const size_t count : {1, 1000, 50'000}) WIA_RUN(check_case(w, {Collective::all_reduce, count}));
    }
    WIA_CHECK(wia_communicator_set_algorithm(w, "all_reduce", "ring/slice=1") == WIA_ERROR_INVALID_ARGUMENT);
    WIA_CHECK(says("slice=1", "64 to 1T"));
    WIA_RUN(check_case(w, {Collective::all_reduce, 1000}));
    return 0;
  }));
}

// The length of a slice belongs to the call: ranks that cut differently must not misread one another.
TEST(S02Values, DifferentSlicesAreNoticed) {
  Meeting all_know(3);
  expect_good(run_ranks(3, [&](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    WIA_OK(wia_communicator_set_algorithm(w, "all_reduce", me == 0 ? "ring/slice=16K" : "ring/slice=32K"));
    Buffer<> in(100'000), out(100'000);
    in.fill(me);
    WIA_CHECK(wia_all_reduce(in.data(), out.data(), 100'000, WIA_INT64, WIA_OP_SUM, w, nullptr) ==
              WIA_ERROR_MISMATCH);
    all_know.arrive_and_wait();
    return 0;
  }));
}

TEST(S02Values, SlowerWaysOfWaiting) {
  for (const char* wait : {"spin", "yield", "sleep"})
    expect_good(run_ranks(3, [wait](int) {
      setenv("WIA_WAIT", wait, 1);
      wia_communicator_t* w = nullptr;
      WIA_RUN(start(&w));
      for (const auto collective : {Collective::all_reduce, Collective::all_gather, Collective::broadcast})
        for (const size_t count : {1, 1000, 50'000}) WIA_RUN(check_roots(w, {collective, count}));
      return 0;
    }));
}

TEST(S02Values, EqualBlocksWhereTheyAreRequired) {
  expect_good(run_ranks(3, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    const size_t shape[] = {7, 2};
    wia_tensor_t* tensor = wia_tensor_create(nullptr, shape, 2, WIA_FLOAT32);
    WIA_CHECK(!wia_reduce_scatter(tensor, WIA_OP_SUM, w) && wia_last_error() == WIA_ERROR_INVALID_ARGUMENT);
    WIA_CHECK(says("7", "3 ranks"));
    WIA_CHECK(wia_send_async(tensor, 0, 1) == WIA_ERROR_INVALID_ARGUMENT && says("14 elements", "3 equal"));
    wia_tensor_destroy(tensor);
    return check_sum(w);
  }));
}

}  // namespace
}  // namespace wia::field
