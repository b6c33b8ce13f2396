// Results that went wrong elsewhere in the field, with the values that are right.
#include <gtest/gtest.h>

#include <vector>

#include "reduce/reducer.hpp"

namespace wia {
namespace {

using Values = std::vector<double>;

// One contribution of each rank, reduced in one pass.
double reduce_values(DType type, Op op, const Values& values) {
  const auto ranks = static_cast<int>(values.size());
  std::vector<uint8_t> elements(values.size() * size_of(type));
  std::vector<Source> sources;
  for (size_t i = 0; i < values.size(); ++i) {
    from_double(type, values[i], elements.data() + i * size_of(type));
    sources.push_back({elements.data() + i * size_of(type), false});
  }
  uint8_t result[16];
  void* const destination = result;
  Reducer::make(type, op, ranks).value()({sources.data(), ranks, &destination, 1, 1, false});
  return to_double(type, result);
}

// The same, but through a partial after each rank, as in a ring.
double reduce_by_hops(DType type, Op op, const Values& values) {
  const auto ranks = static_cast<int>(values.size());
  const Reducer reducer = Reducer::make(type, op, ranks).value();
  uint8_t element[16], partial[16], result[16];
  void* destination = partial;
  for (int i = 0; i < ranks; ++i) {
    from_double(type, values[static_cast<size_t>(i)], element);
    const Source sources[] = {{element, false}, {partial, true}};
    const bool last = i == ranks - 1;
    if (last) destination = result;
    reducer({sources, i == 0 ? 1 : 2, &destination, 1, 1, !last});
  }
  return to_double(type, result);
}

void expect_both(DType type, Op op, const Values& values, double expected) {
  EXPECT_EQ(reduce_values(type, op, values), expected) << name_of(op) << " " << name_of(type);
  EXPECT_EQ(reduce_by_hops(type, op, values), expected) << name_of(op) << " " << name_of(type);
}

// Rounding to 16 bits at every hop would lose all the ones and give 256.
TEST(FieldCases, SmallAddendsOfBfloat16AreKept) {
  for (size_t place = 0; place < 8; ++place) {
    Values values(8, 1.0);
    values[place] = 256.0;
    expect_both(DType::bfloat16, Op::sum, values, 264.0);
  }
}

// Rounding at every hop would give 0.8046875.
TEST(FieldCases, EightTenthsOfBfloat16) { expect_both(DType::bfloat16, Op::sum, Values(8, 0.1), 0.80078125); }

TEST(FieldCases, IntegerAverageIsTheSumDivided) {
  expect_both(DType::int32, Op::avg, {3, 4}, 3);
  expect_both(DType::int32, Op::avg, {-3, -4}, -3);
  expect_both(DType::int32, Op::avg, {2147483647, 2147483647}, 2147483647);
  expect_both(DType::int8, Op::avg, {127, 127, 127}, 127);
  expect_both(DType::uint8, Op::avg, Values(300, 255.0), 255);
}

TEST(FieldCases, AverageOfTheLargest64BitIntegers) {
  const uint64_t largest = UINT64_MAX;
  const Source sources[] = {{&largest, false}, {&largest, false}, {&largest, false}};
  uint64_t result = 0;
  void* const destination = &result;
  Reducer::make(DType::uint64, Op::avg, 3).value()({sources, 3, &destination, 1, 1, false});
  EXPECT_EQ(result, largest);
  const int64_t least = INT64_MIN;
  const Source signed_sources[] = {{&least, false}, {&least, false}};
  Reducer::make(DType::int64, Op::avg, 2).value()({signed_sources, 2, &destination, 1, 1, false});
  EXPECT_EQ(static_cast<int64_t>(result), least);
}

// The sums, 80000 and 196512, are beyond the range of float16.
TEST(FieldCases, AverageOfFloat16DoesNotOverflow) {
  expect_both(DType::float16, Op::avg, {40000, 40000}, 40000);
  expect_both(DType::float16, Op::avg, {65504, 65504, 65504}, 65504);
}

TEST(FieldCases, IntegerSumsWrapAround) {
  expect_both(DType::uint8, Op::sum, {200, 100}, 44);
  expect_both(DType::int8, Op::sum, {120, 100}, -36);
}

TEST(FieldCases, BoolStaysBool) {
  expect_both(DType::boolean, Op::sum, {1, 1}, 1);
  expect_both(DType::boolean, Op::sum, {0, 0}, 0);
  expect_both(DType::boolean, Op::bor, {0, 1}, 1);
  expect_both(DType::boolean, Op::band, {0, 1}, 0);
  expect_both(DType::boolean, Op::prod, {1, 1}, 1);
  expect_both(DType::boolean, Op::bxor, {1, 1}, 0);
}

// A sum that overflows the format only on its way is not lost.
TEST(FieldCases, Float8SumsAreRoundedOnce) {
  expect_both(DType::float8_e4m3, Op::sum, {448, 448, -448}, 448);
  expect_both(DType::float8_e5m2, Op::sum, {57344, 57344, -57344}, 57344);
}

}  // namespace
}  // namespace wia
