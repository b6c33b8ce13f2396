// Field case S25: no cliffs between sizes, and a start that stays cheap. What is measured here is printed; as
// machines are noisy, only a multiple of a limit fails a test: of sizes, by their fastest repetition, again
// and again.
#include <algorithm>
#include <cmath>

#include "field/collectives.hpp"

namespace wia::field {
namespace {

constexpr double kNoise = 10;                                       // so many times a limit is a fault
const size_t kLargest = size_t{over().network() ? 2u : 32u} << 20;  // bytes of the larger buffer

// Of 30 repetitions (fewer of the large ones), in microseconds, of the slowest rank.
struct Times {
  double median = NAN, fastest = NAN;
};
Times measure(wia_communicator_t* w, const Case& c, void* send, void* recv) {
  const int repetitions = c.count > 1'000'000 ? 7 : 30;
  std::vector<double> times;
  for (int i = -2; i < repetitions; ++i) {
    if (wia_barrier(w) != WIA_SUCCESS) return {};
    const double began = seconds();
    if (call(c, send, recv, WIA_FLOAT32, w) != WIA_SUCCESS) return {};
    double took = seconds() - began;
    if (wia_all_reduce(&took, &took, 1, WIA_FLOAT64, WIA_OP_MAX, w, nullptr) != WIA_SUCCESS) return {};
    if (i >= 0) times.push_back(took * 1e6);
  }
  std::sort(times.begin(), times.end());
  return {times[static_cast<size_t>(repetitions / 2)], times[0]};
}

int sweep(wia_communicator_t* w, Collective collective) {
  const auto ranks = static_cast<size_t>(wia_size(w));
  Buffer<float> in(kLargest / 4), out(kLargest / 4);
  std::memset(in.data(), 0, kLargest);
  std::memset(out.data(), 0, kLargest);
  const size_t parts = sends_blocks(collective) || receives_blocks(collective) ? ranks : 1;
  Times before = {0, 0};
  bool steep = false;
  std::string cliffs;
  const auto count_of = [&](size_t bytes) { return std::max<size_t>(bytes / 4 / parts, 1); };
  const auto measure_count = [&](size_t count) {
    return measure(w, {collective, count}, in.data(), out.data());
  };
  for (size_t bytes = 8; bytes <= kLargest; bytes *= 2) {
    const size_t count = count_of(bytes);
    const Times around = measure_count(count + (count * parts * 4 < kLargest));
    Times time = measure_count(count);
    WIA_CHECK(!std::isnan(time.median) && !std::isnan(around.median));
    const auto is_cliff = [&](double Times::*which, double factor) {
      return before.*which > 0 &&
             (time.*which > factor * 3 * before.*which || before.*which > factor * 1.5 * time.*which);
    };
    if (is_cliff(&Times::median, 1))
      cliffs += "  " + std::to_string(bytes) + " B: " + std::to_string(before.median) + " -> " +
                std::to_string(time.median) + " us\n";
    for (int again = 0; again < 5 && is_cliff(&Times::fastest, kNoise); ++again) {
      before = measure_count(count_of(bytes / 2));
      time = measure_count(count);
    }
    steep |= is_cliff(&Times::fastest, kNoise);
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
