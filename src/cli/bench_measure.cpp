#include "cli/bench_measure.hpp"

#include <algorithm>

#include "base/deadline.hpp"
#include "base/random.hpp"

namespace wia::cli::bench {
namespace {

constexpr int kWarmUp = 3, kLeastIterations = 7;

class Run {
 public:
  Run(const Options& options, const Cell& cell, wia_communicator_t* comm, Meeting& meeting)
      : options_(options), cell_(cell), meeting_(meeting), buffers_(cell, options.wia_memory, comm) {}

  Measurement measure() {
    Measurement result;
    result.wrong = checked_call();
    for (int i = 1; i < kWarmUp; ++i) call_and_meet();
    result.iterations = options_.iterations > 0 ? options_.iterations : iterations_that_fit();
    time(&result);
    if (options_.check) result.wrong += checked_call();
    return result;
  }

 private:
  void call_and_meet() {
    must(buffers_.call());
    meeting_.barrier();
  }

  // On fresh data, so that nothing an earlier call has left can pass for a result.
  uint64_t checked_call() {
    const auto seed = static_cast<uint64_t>(meeting_.agree(static_cast<int64_t>(random_bits())));
    const TestData data(cell_, meeting_.rank(), meeting_.ranks(), seed);
    buffers_.prepare(data);
    meeting_.barrier();
    must(buffers_.call());
    const uint64_t wrong = options_.check ? buffers_.count_wrong(data) : 0;
    return meeting_.sum(wrong);
  }

  int iterations_that_fit() {
    const auto seconds_of = [&](int calls) {
      meeting_.barrier();
      const int64_t began = now_ns();
      for (int i = 0; i < calls; ++i) must(buffers_.call());
      meeting_.barrier();
      return static_cast<double>(meeting_.agree(now_ns() - began)) * 1e-9 / calls;
    };
    double estimate = seconds_of(1);
    if (estimate < 0.002) estimate = seconds_of(20);
    return static_cast<int>(
        std::clamp(kBudget / std::max(estimate, 1e-7), double{kLeastIterations}, double{kMostIterations}));
  }

  void time(Measurement* result) {
    const std::vector<int64_t> times = time_calls(buffers_, meeting_, result->iterations);
    const auto microseconds = [&](size_t i) {
      return static_cast<double>(times[std::min(i, times.size() - 1)]) * 1e-3;
    };
    result->min_us = microseconds(0);
    result->median_us = microseconds(times.size() / 2);
    result->p99_us = microseconds(times.size() * 99 / 100);
  }

  const Options& options_;
  const Cell& cell_;
  Meeting& meeting_;
  Buffers buffers_;
};

}  // namespace

std::vector<int64_t> time_calls(const Buffers& buffers, Meeting& meeting, int calls) {
  std::vector<Meeting::Stamp> own(static_cast<size_t>(calls));
  for (auto& [start, end] : own) {
    meeting.barrier();
    start = now_ns();
    must(buffers.call());
    end = now_ns();
  }
  meeting.barrier();
  std::vector<int64_t> times = meeting.times(own);
  std::sort(times.begin(), times.end());
  return times;
}

Measurement measure(const Options& options, const Cell& cell, wia_communicator_t* comm, Meeting& meeting) {
  return Run(options, cell, comm, meeting).measure();
}

}  // namespace wia::cli::bench
