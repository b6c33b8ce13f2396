// Names, sizes, and single values.
#include "reduce/dtype.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reduce/reducer.hpp"

namespace wia {
namespace {

TEST(DType, NamesParseBack) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name_of(type)), type) << name_of(type);
  }
  for (int i = 0; i <= kNumOps; ++i) {
    const auto op = static_cast<Op>(i);
    EXPECT_EQ(parse_op(name_of(op)), op) << name_of(op);
  }
  EXPECT_EQ(name_of(DType::float8_e4m3), "float8_e4m3");
  EXPECT_EQ(name_of(DType::boolean), "bool");
  EXPECT_EQ(name_of(Op::premul_sum), "premul_sum");
}

TEST(DType, ShortNames) {
  EXPECT_EQ(parse_dtype("i8"), DType::int8);
  EXPECT_EQ(parse_dtype("u16"), DType::uint16);
  EXPECT_EQ(parse_dtype("i64"), DType::int64);
  EXPECT_EQ(parse_dtype("f16"), DType::float16);
  EXPECT_EQ(parse_dtype("fp16"), DType::float16);
  EXPECT_EQ(parse_dtype("half"), DType::float16);
  EXPECT_EQ(parse_dtype("bf16"), DType::bfloat16);
  EXPECT_EQ(parse_dtype("f32"), DType::float32);
  EXPECT_EQ(parse_dtype("double"), DType::float64);
  EXPECT_EQ(parse_dtype("fp8_e5m2"), DType::float8_e5m2);
}

TEST(DType, RefusesOtherNames) {
  for (const char* name : {"", "f", "float3", "float322", "F32", "token", "i128"})
    EXPECT_EQ(parse_dtype(name), std::nullopt) << name;
  for (const char* name : {"", "su", "summ", "SUM"}) EXPECT_EQ(parse_op(name), std::nullopt) << name;
}

TEST(DType, NamesOfNumbersOutOfRange) {
  EXPECT_EQ(name_of(static_cast<DType>(200)), "unknown dtype");
  EXPECT_EQ(name_of(static_cast<Op>(200)), "unknown op");
}

TEST(DType, Sizes) {
  EXPECT_EQ(size_of(DType::int8), 1u);
  EXPECT_EQ(size_of(DType::bfloat16), 2u);
  EXPECT_EQ(size_of(DType::float32), 4u);
  EXPECT_EQ(size_of(DType::uint64), 8u);
  EXPECT_EQ(size_of(DType::float8_e5m2), 1u);
  EXPECT_EQ(size_of(DType::boolean), 1u);
  EXPECT_EQ(size_of(DType::token), 16u);
}

double round_trip(DType type, double value) {
  uint8_t element[16];
  from_double(type, value, element);
  return to_double(type, element);
}

TEST(Values, SmallNumbersSurviveInEveryType) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(round_trip(type, 0.0), 0.0) << name_of(type);
    EXPECT_EQ(round_trip(type, 1.0), 1.0) << name_of(type);
    if (type != DType::boolean) {
      EXPECT_EQ(round_trip(type, 5.0), 5.0) << name_of(type);
    }
  }
  EXPECT_EQ(round_trip(DType::token, 7.0), 7.0);
}

TEST(Values, IntegersTruncateAndSaturate) {
  EXPECT_EQ(round_trip(DType::int8, -1.9), -1.0);
  EXPECT_EQ(round_trip(DType::int8, 1e9), 127.0);
  EXPECT_EQ(round_trip(DType::int8, -1e9), -128.0);
  EXPECT_EQ(round_trip(DType::uint16, -3.0), 0.0);
  EXPECT_EQ(round_trip(DType::uint64, 1e300), std::ldexp(1.0, 64));
  EXPECT_EQ(round_trip(DType::int32, std::nan("")), 0.0);
}

TEST(Values, FloatsRoundOnce) {
  // Just above the midpoint of two float16 numbers; through float32 it would become the midpoint itself.
  EXPECT_EQ(round_trip(DType::float16, 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)),
            1.0 + std::ldexp(1.0, -10));
  EXPECT_EQ(round_trip(DType::float16, 1.0 + std::ldexp(1.0, -11)), 1.0);
  EXPECT_EQ(round_trip(DType::bfloat16, 1e300), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_trip(DType::bfloat16, -1e-300), 0.0);
  EXPECT_TRUE(std::signbit(round_trip(DType::bfloat16, -1e-300)));
  EXPECT_TRUE(std::isnan(round_trip(DType::float8_e4m3, 1e300)));
  EXPECT_TRUE(std::isnan(round_trip(DType::float8_e5m2, std::nan(""))));
}

}  // namespace
}  // namespace wia
