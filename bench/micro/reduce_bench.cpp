// Speed of reductions and copies on one core, beside memcpy in the same run.
//
// bytes_per_second counts one raw buffer once, however many sources and destinations there are. Machines are
// noisy: compare medians of one run, as in
//   wia_bench_reduce --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
//                    --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "reduce/reducer.hpp"

namespace wia {
namespace {

constexpr int64_t kSizes[] = {64, 4 << 10, 256 << 10, 1 << 20, 16 << 20};

// Buffers at different places within a page, as they are in life; equal ones would make stores wait
// for loads of the same lower address bits.
class Buffers {
 public:
  Buffers(size_t count, size_t bytes) {
    constexpr size_t kPage = 4096, kShift = 320;
    for (size_t i = 0; i < count; ++i) {
      const size_t total = (bytes + count * kShift + kPage - 1) / kPage * kPage;
      memory_.emplace_back(std::aligned_alloc(kPage, total), &std::free);
      std::memset(memory_.back().get(), 0, total);  // valid in every dtype, and makes the pages present
      addresses_.push_back(static_cast<char*>(memory_.back().get()) + i * kShift);
    }
  }
  void* operator[](size_t i) const { return addresses_[i]; }
  void* const* from(size_t i) const { return addresses_.data() + i; }

 private:
  std::vector<std::unique_ptr<void, void (*)(void*)>> memory_;
  std::vector<void*> addresses_;
};

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}

void copy_by_memcpy(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Buffers buffers(2, bytes);
  for (auto _ : state) {
    std::memcpy(buffers[1], buffers[0], bytes);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

void copy(benchmark::State& state, int destinations, bool streaming) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Buffers buffers(1 + static_cast<size_t>(destinations), bytes);
  for (auto _ : state) {
    copy_to_all(buffers.from(1), destinations, buffers[0], bytes, streaming);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

struct Shape {
  int sources;
  int destinations;
  bool in_place = false;  // the first destination is the first source
  bool streaming = false;
};

void reduce(benchmark::State& state, DType dtype, Op op, Shape shape) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const auto num_sources = static_cast<size_t>(shape.sources);
  const Buffers buffers(num_sources + static_cast<size_t>(shape.destinations), bytes);
  std::vector<Source> sources;
  for (size_t s = 0; s < num_sources; ++s) sources.push_back({buffers[s], false});
  std::vector<void*> destinations;
  for (size_t d = 0; d < static_cast<size_t>(shape.destinations); ++d)
    destinations.push_back(buffers[d == 0 && shape.in_place ? 0 : num_sources + d]);
  const Reducer reducer = Reducer::make(dtype, op, shape.sources).value();
  const ReduceArguments arguments = {sources.data(),
                                     shape.sources,
                                     destinations.data(),
                                     shape.destinations,
                                     bytes / size_of(dtype),
                                     false,
                                     shape.streaming ? shape.destinations : 0};
  for (auto _ : state) {
    reducer(arguments);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

template <class Body>
void add(const std::string& name, Body body) {
  auto* entry = benchmark::RegisterBenchmark(name.c_str(), body);
  for (const int64_t size : kSizes) entry->Arg(size);
  entry->UseRealTime();
}

void add_reduce(const std::string& name, DType dtype, Op op, Shape shape) {
  add(name, [=](benchmark::State& state) { reduce(state, dtype, op, shape); });
}

const bool registered = [] {
  add("memcpy", copy_by_memcpy);
  add("copy/1_streaming", [](benchmark::State& state) { copy(state, 1, true); });
  add("copy/2", [](benchmark::State& state) { copy(state, 2, false); });
  const DType f32 = DType::float32;
  add_reduce("f32_sum/in_place", f32, Op::sum, {.sources = 2, .destinations = 1, .in_place = true});
  add_reduce("f32_sum/2_to_1", f32, Op::sum, {.sources = 2, .destinations = 1});
  add_reduce("f32_sum/2_to_1_streaming", f32, Op::sum, {.sources = 2, .destinations = 1, .streaming = true});
  add_reduce("f32_sum/2_to_2", f32, Op::sum, {.sources = 2, .destinations = 2});
  add_reduce("f32_sum/3_to_1", f32, Op::sum, {.sources = 3, .destinations = 1});
  add_reduce("f32_sum/8_to_1", f32, Op::sum, {.sources = 8, .destinations = 1});
  add_reduce("f32_avg/2_to_1", f32, Op::avg, {.sources = 2, .destinations = 1});
  add_reduce("f32_max/2_to_1", f32, Op::max, {.sources = 2, .destinations = 1});
  add_reduce("f16_sum/2_to_1", DType::float16, Op::sum, {.sources = 2, .destinations = 1});
  add_reduce("bf16_sum/2_to_1", DType::bfloat16, Op::sum, {.sources = 2, .destinations = 1});
  add_reduce("bf16_sum/8_to_1", DType::bfloat16, Op::sum, {.sources = 8, .destinations = 1});
  add_reduce("fp8_e4m3_sum/2_to_1", DType::float8_e4m3, Op::sum, {.sources = 2, .destinations = 1});
  add_reduce("i8_prod/2_to_1", DType::int8, Op::prod, {.sources = 2, .destinations = 1});
  add_reduce("i32_avg/2_to_1", DType::int32, Op::avg, {.sources = 2, .destinations = 1});
  return true;
}();

}  // namespace
}  // namespace wia
