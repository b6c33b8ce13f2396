// The check of wia bench notices what it is there for.
#include "cli/bench_data.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "reduce/reducer.hpp"

namespace wia::cli::bench {
namespace {

constexpr int kRanks = 3, kRank = 1;
constexpr size_t kCount = 1000;

Cell cell_of(Kind kind, DType dtype, Op op = Op::sum) {
  Cell cell;
  cell.kind = kind;
  cell.dtype = dtype;
  cell.op = op;
  cell.count = kCount;
  return cell;
}

// What the library gives for an all_reduce.
std::vector<std::byte> reduced(const Cell& cell, uint64_t seed) {
  std::vector<std::vector<std::byte>> inputs;
  std::vector<Source> sources;
  for (int rank = 0; rank < kRanks; ++rank) {
    inputs.emplace_back(kCount * size_of(cell.dtype));
    TestData(cell, rank, kRanks, seed).fill(inputs.back().data());
  }
  for (const auto& input : inputs) sources.push_back({input.data(), false});
  std::vector<std::byte> result(kCount * size_of(cell.dtype));
  void* destination = result.data();
  const auto reducer = Reducer::make(cell.dtype, cell.op, kRanks);
  EXPECT_TRUE(reducer.ok());
  reducer.value()({sources.data(), kRanks, &destination, 1, kCount, false, false});
  return result;
}

struct Pair {
  DType dtype;
  Op op;
};
std::string name_of(Pair pair) {
  return std::string(wia::name_of(pair.dtype)) + "_" + std::string(wia::name_of(pair.op));
}
void PrintTo(Pair pair, std::ostream* out) { *out << name_of(pair); }

std::vector<Pair> defined_pairs() {
  std::vector<Pair> pairs;
  for (int d = 0; d < kNumDTypes; ++d)
    for (int o = 0; o < kNumOps; ++o)
      if (Reducer::make(static_cast<DType>(d), static_cast<Op>(o), kRanks))
        pairs.push_back({static_cast<DType>(d), static_cast<Op>(o)});
  return pairs;
}

class BenchData : public testing::TestWithParam<Pair> {
 protected:
  const Cell cell = cell_of(Collective::all_reduce, GetParam().dtype, GetParam().op);
  const TestData data{cell, kRank, kRanks, 7};
};

TEST_P(BenchData, TakesTheRightResult) { EXPECT_EQ(data.count_wrong(reduced(cell, 7).data()), 0u); }

TEST_P(BenchData, NoticesAnOutputThatNobodyWrote) {
  for (const int poison : {0x00, 0xa5, 0xff}) {
    const std::vector<std::byte> output(kCount * size_of(cell.dtype), static_cast<std::byte>(poison));
    // Types of one byte and results of two values meet the poison now and then.
    EXPECT_GT(data.count_wrong(output.data()), kCount / 16) << poison;
  }
}

TEST_P(BenchData, NoticesTheResultOfOtherData) {
  EXPECT_GT(data.count_wrong(reduced(cell, 8).data()), kCount / 16);
}

TEST_P(BenchData, NoticesOneWrongElement) {
  auto output = reduced(cell, 7);
  std::byte* last = output.data() + output.size() - size_of(cell.dtype);
  const bool boolean = cell.dtype == DType::boolean;
  last[size_of(cell.dtype) - 1] ^= boolean ? std::byte{1} : std::byte{0x7c};  // of a float: the exponent
  EXPECT_EQ(data.count_wrong(output.data()), 1u);
}

INSTANTIATE_TEST_SUITE_P(Pairs, BenchData, testing::ValuesIn(defined_pairs()),
                         [](const auto& tested) { return name_of(tested.param); });

TEST(BenchDataFloats, WhatIsNotFiniteIsWrong) {
  const Cell cell = cell_of(Collective::all_reduce, DType::float32);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> output(kCount, bad);
    EXPECT_EQ(TestData(cell, kRank, kRanks, 7).count_wrong(reinterpret_cast<const std::byte*>(output.data())),
              kCount);
  }
}

TEST(BenchDataFloats, AllowsRoundingButNotMore) {
  const Cell cell = cell_of(Collective::all_reduce, DType::float64);
  auto output = reduced(cell, 7);
  auto* values = reinterpret_cast<double*>(output.data());
  for (size_t i = 0; i < kCount; ++i) values[i] += 1e-17;
  EXPECT_EQ(TestData(cell, kRank, kRanks, 7).count_wrong(output.data()), 0u);
  for (size_t i = 0; i < kCount; ++i) values[i] += 1e-13;
  EXPECT_EQ(TestData(cell, kRank, kRanks, 7).count_wrong(output.data()), kCount);
}

TEST(BenchDataCopies, BlocksInTheWrongOrderAreWrong) {
  const Cell cell = cell_of(Collective::all_gather, DType::int32);
  std::vector<int32_t> output(kRanks * kCount);
  const auto gather = [&](std::vector<int> order) {
    for (int block = 0; block < kRanks; ++block)
      TestData(cell, order[static_cast<size_t>(block)], kRanks, 7)
          .fill(reinterpret_cast<std::byte*>(output.data() + static_cast<size_t>(block) * kCount));
    return TestData(cell, kRank, kRanks, 7).count_wrong(reinterpret_cast<const std::byte*>(output.data()));
  };
  EXPECT_EQ(gather({0, 1, 2}), 0u);
  EXPECT_EQ(gather({0, 2, 1}), 2 * kCount);
}

TEST(BenchDataCopies, AChangedInputIsCounted) {
  const Cell cell = cell_of(Collective::all_to_all, DType::uint8);
  std::vector<std::byte> input(kRanks * kCount);
  const TestData data(cell, kRank, kRanks, 7);
  data.fill(input.data());
  EXPECT_EQ(data.count_changed(input.data()), 0u);
  input[2999] ^= std::byte{1};
  EXPECT_EQ(data.count_changed(input.data()), 1u);
}

}  // namespace
}  // namespace wia::cli::bench
