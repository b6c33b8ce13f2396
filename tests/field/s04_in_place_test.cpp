// Field case S04: results are exact in place and on misaligned buffers; other overlap is refused.
#include "field/collectives.hpp"

namespace wia::field {
namespace {

class S04 : public testing::TestWithParam<int> {};

TEST_P(S04, InPlaceIsExact) {
  expect_good(run_ranks(
      GetParam(),
      [](int) {
        wia_communicator_t* w = nullptr;
        WIA_RUN(start(&w, 60'000));
        for (const Algorithm& algorithm : all_algorithms()) {
          WIA_RUN(use(w, algorithm));
          for (const bool shared : {false, true})
            for (const size_t count : {1, 33, 20'003})
              if (check_roots(w, {algorithm.collective, count, 0, shared, true})) {
                std::fprintf(stderr, "with algorithm %s\n", algorithm.name);
                return 1;
              }
        }
        return 0;
      },
      120));
}

INSTANTIATE_TEST_SUITE_P(Field, S04, testing::Values(1, 2, 3, 5, 6, 7));

TEST(S04Buffers, LargeAndMisaligned) {
  expect_good(run_ranks(3, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 60'000));
    for (int c = 0; c < kNumCollectives; ++c)
      for (const bool shared : {false, true})
        for (const bool in_place : {false, true})
          for (const size_t count : {1, 33, 100'003})
            WIA_RUN(check_roots<float>(w, {static_cast<Collective>(c), count, 0, shared, in_place, 1},
                                       WIA_FLOAT32));
    return 0;
  }));
}

// recv = send + 1 element.
TEST(S04Buffers, PartialOverlapIsRefused) {
  expect_good(run_ranks(3, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (int c = 0; c < kNumCollectives; ++c) {
      const Case overlapping{static_cast<Collective>(c), 33, 1};
      if (overlapping.collective == Collective::barrier || overlapping.collective == Collective::broadcast)
        continue;
      // Reduce and gather look at recv on the root only, scatter at send.
      const bool local = overlapping.collective == Collective::reduce ||
                         overlapping.collective == Collective::gather ||
                         overlapping.collective == Collective::scatter;
      if (local && me != overlapping.root) continue;
      Buffer<> x(100 + 33 * 3);
      x.fill(me);
      WIA_CHECK(call(overlapping, x.data(), x.data() + 1, WIA_INT64, w) == WIA_ERROR_INVALID_ARGUMENT);
      WIA_CHECK(says("overlap", std::string(name_of(overlapping.collective)).c_str()));
      for (size_t i = 0; i < 100 + 33 * 3; ++i) WIA_CHECK(x.get(i) == value(me, i));
    }
    return check_sum(w);
  }));
}

}  // namespace
}  // namespace wia::field
