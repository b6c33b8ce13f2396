// Field case S25: no cliffs between sizes, and a start that stays cheap. What is measured here is printed; as
// machines are noisy, only a multiple of a limit fails a test.
#include <algorithm>
#include <cmath>

#include "field/collectives.hpp"

namespace wia::field {
namespace {

constexpr double kNoise = 10;                                       // so many times a limit is a fault
const size_t kLargest = size_t{over().network() ? 2u : 32u} << 20;  // bytes of the larger buffer

// Median of 30 (fewer of the large ones), in microseconds, of the slowest rank.
double median_us(wia_communicator_t* w, const Case& c, void* send, void* recv) {
  const int repetitions = c.count > 1'000'000 ? 7 : 30;
  std::vector<double> times;
  for (int i = -2; i < repetitions; ++i) {
    if (wia_barrier(w) != WIA_SUCCESS) return NAN;
    const double began = seconds();
    if (call(c, send, recv, WIA_FLOAT32, w) != WIA_SUCCESS) return NAN;
    double took = seconds() - began;
    if (wia_all_reduce(&took, &took, 1, WIA_FLOAT64, WIA_OP_MAX, w, nullptr) != WIA_SUCCESS) return NAN;
    if (i >= 0) times.push_back(took * 1e6);
  }
  std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
  return times[static_cast<size_t>(repetitions / 2)];
}

int sweep(wia_communicator_t* w, Collective collective) {
  const auto ranks = static_cast<size_t>(wia_size(w));
  Buffer<float> in(kLargest / 4), out(kLargest / 4);
  std::memset(in.data(), 0, kLargest);
  std::memset(out.data(), 0, kLargest);
  const size_t parts = sends_blocks(collective) || receives_blocks(collective) ? ranks : 1;
  double before = 0;
  bool steep = false;
  std::string cliffs;
  for (size_t bytes = 8; bytes <= kLargest; bytes *= 2) {
    const size_t count = std::max<size_t>(bytes / 4 / parts, 1);
    const double around =
        median_us(w, {collective, count + (count * parts * 4 < kLargest)}, in.data(), out.data());
    const double time = median_us(w, {collective, count}, in.data(), out.data());
    WIA_CHECK(!std::isnan(time) && !std::isnan(around));
    const bool cliff = before > 0 && (time > 3 * before || before > 1.5 * time);
    if (cliff)
      cliffs += "  " + std::to_string(bytes) + " B: " + std::to_string(before) + " -> " +
                std::to_string(time) + " us\n";
    steep |= before > 0 && (time > kNoise * 3 * before || before > kNoise * 1.5 * time);
    before = time;
  }
  if (wia_rank(w) == 0)
    std::printf("%s, %zu ranks: %s\n%s", std::string(name_of(collective)).c_str(), ranks,
                cliffs.empty() ? "no cliffs" : "cliffs:", cliffs.c_str());
  WIA_CHECK(in.intact() && out.intact());
  WIA_CHECK(!steep);
  return 0;
}

class S25 : public testing::TestWithParam<int> {};

TEST_P(S25, Sizes) {
  const Results results = run_ranks(
      GetParam(),
      [](int) {
        wia_communicator_t* w = nullptr;
        WIA_RUN(start(&w, 60'000));
        for (const auto collective : {Collective::all_reduce, Collective::broadcast, Collective::all_gather,
                                      Collective::reduce_scatter})
          WIA_RUN(sweep(w, collective));
        return 0;
      },
      120);
  expect_good(results);
  std::printf("%s", results[0].text.c_str());
}

INSTANTIATE_TEST_SUITE_P(Field, S25, testing::Values(2, 4));

TEST(S25Start, CostOfStartsAndGroups) {
  for (const int ranks : {2, 4, 8, 16}) {
    const Results results = run_ranks(ranks, [](int me) {
      wia_communicator_t* w = nullptr;
      double began = seconds();
      WIA_RUN(start(&w, 60'000));
      const double init = seconds() - began;
      WIA_OK(wia_barrier(w));
      began = seconds();
      for (int i = 0; i < 64; ++i) {
        wia_communicator_t* group = nullptr;
        WIA_OK(wia_communicator_split(w, me % 2, 0, &group));
      }
      if (me == 0)
        std::printf("%d ranks: start %.1f ms, a sub-group %.2f ms\n", wia_size(w), init * 1e3,
                    (seconds() - began) / 64 * 1e3);
      WIA_CHECK(init < kNoise * 5 && (seconds() - began) / 64 < kNoise * 0.05);
      return check_sum(w);
    });
    expect_good(results);
    std::printf("%s", results[0].text.c_str());
  }
}

}  // namespace
}  // namespace wia::field
