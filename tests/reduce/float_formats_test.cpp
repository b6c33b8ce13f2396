// The small float formats against their definition, exhaustively: every value, and around every rounding
// boundary.
#include "reduce/float_formats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reduce/reducer.hpp"
#include "targets.hpp"

namespace wia {
namespace {

template <class CodeType, DType dtype, int exponent, int mantissa>
struct Format {
  using Code = CodeType;
  using Bits = typename Code::Bits;
  static constexpr DType kDType = dtype;
  static constexpr int kExponentBits = exponent, kMantissaBits = mantissa;
  static constexpr uint32_t kSign = 1u << (exponent + mantissa);
  static constexpr bool kHasInfinity = dtype != DType::float8_e4m3;
  static constexpr uint32_t kInfinity = ((1u << exponent) - 1) << mantissa;
  // The first magnitude that is no number.
  static constexpr uint32_t kEnd = kHasInfinity ? kInfinity : kSign - 1;
};

using Formats =
    testing::Types<Format<Float16, DType::float16, 5, 10>, Format<BFloat16, DType::bfloat16, 8, 7>,
                   Format<Float8E4M3, DType::float8_e4m3, 4, 3>,
                   Format<Float8E5M2, DType::float8_e5m2, 5, 2>>;

// The value by definition of the format. `magnitude` may be that of the number after the largest.
template <class F>
double value_of(uint32_t magnitude) {
  const int bias = (1 << (F::kExponentBits - 1)) - 1;
  const int exponent = static_cast<int>(magnitude >> F::kMantissaBits);
  const double fraction = magnitude & ((1u << F::kMantissaBits) - 1);
  if (exponent == 0) return std::ldexp(fraction, 1 - bias - F::kMantissaBits);
  return std::ldexp(fraction + (1u << F::kMantissaBits), exponent - bias - F::kMantissaBits);
}

// What each float must become.
struct Rounding {
  float value;
  uint32_t bits;
};

template <class F>
std::vector<Rounding> roundings() {
  std::vector<Rounding> list;
  const float infinity = std::numeric_limits<float>::infinity();
  for (uint32_t lower = 0; lower < F::kEnd; ++lower) {
    const uint32_t upper = lower + 1, even = lower % 2 == 0 ? lower : upper;
    const auto middle = static_cast<float>((value_of<F>(lower) + value_of<F>(upper)) / 2);
    list.push_back({static_cast<float>(value_of<F>(lower)), lower});
    list.push_back({std::nextafter(middle, 0.0f), lower});
    list.push_back({middle, even});
    list.push_back({std::nextafter(middle, infinity), upper});
  }
  list.push_back({infinity, F::kEnd});
  list.push_back({std::numeric_limits<float>::max(), F::kEnd});
  list.push_back({std::numeric_limits<float>::denorm_min(), 0});
  const size_t positive = list.size();
  for (size_t i = 0; i < positive; ++i) list.push_back({-list[i].value, list[i].bits | F::kSign});
  return list;
}

template <class F>
bool is_nan(uint32_t bits) {
  const uint32_t magnitude = bits & (F::kSign - 1);
  return F::kHasInfinity ? magnitude > F::kInfinity : magnitude == F::kEnd;
}

template <class F>
class FloatFormat : public testing::Test {};
TYPED_TEST_SUITE(FloatFormat, Formats);

TYPED_TEST(FloatFormat, DecodesEveryValue) {
  using F = TypeParam;
  for (uint32_t bits = 0; bits < 2 * F::kSign; ++bits) {
    const float value = F::Code::decode(static_cast<typename F::Bits>(bits));
    const uint32_t magnitude = bits & (F::kSign - 1);
    ASSERT_EQ(std::signbit(value), (bits & F::kSign) != 0) << bits;
    if (is_nan<F>(bits)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else if (magnitude == F::kEnd) {
      ASSERT_TRUE(std::isinf(value)) << bits;
    } else {
      ASSERT_EQ(std::fabs(value), value_of<F>(magnitude)) << bits;
    }
  }
}

TYPED_TEST(FloatFormat, RoundTripsEveryValue) {
  using F = TypeParam;
  for (uint32_t bits = 0; bits < 2 * F::kSign; ++bits) {
    const uint32_t back = F::Code::encode(F::Code::decode(static_cast<typename F::Bits>(bits)));
    if (is_nan<F>(bits)) {
      ASSERT_TRUE(is_nan<F>(back)) << bits;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

TYPED_TEST(FloatFormat, RoundsToNearestEven) {
  using F = TypeParam;
  for (const Rounding& r : roundings<F>())
    ASSERT_EQ(static_cast<uint32_t>(F::Code::encode(r.value)), r.bits) << std::hexfloat << r.value;
}

TYPED_TEST(FloatFormat, KeepsNan) {
  using F = TypeParam;
  for (const uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu})
    EXPECT_TRUE(is_nan<F>(F::Code::encode(std::bit_cast<float>(bits)))) << bits;
}

TYPED_TEST(FloatFormat, VectorsDecodeAlike) {
  using F = TypeParam;
  const size_t count = 2 * F::kSign;
  std::vector<typename F::Bits> raw(count);
  for (size_t i = 0; i < count; ++i) raw[i] = static_cast<typename F::Bits>(i);
  for_each_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    const Reducer reducer = Reducer::make(F::kDType, Op::sum, 1).value();
    std::vector<float> partial(count);
    const Source source = {raw.data(), false};
    void* const destination = partial.data();
    reducer({&source, 1, &destination, 1, count, true});
    for (size_t i = 0; i < count; ++i) {
      const float expected = F::Code::decode(raw[i]);
      if (std::isnan(expected) && std::isnan(partial[i])) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(partial[i]), std::bit_cast<uint32_t>(expected)) << i;
    }
  });
}

TYPED_TEST(FloatFormat, VectorsRoundAlike) {
  using F = TypeParam;
  std::vector<float> partial;
  for (const Rounding& r : roundings<F>()) partial.push_back(r.value);
  for (const uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu})
    partial.push_back(std::bit_cast<float>(bits));
  for_each_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    const Reducer reducer = Reducer::make(F::kDType, Op::sum, 1).value();
    std::vector<typename F::Bits> raw(partial.size());
    const Source source = {partial.data(), true};
    void* const destination = raw.data();
    reducer({&source, 1, &destination, 1, partial.size(), false});
    for (size_t i = 0; i < raw.size(); ++i) {
      if (std::isnan(partial[i])) {
        ASSERT_TRUE(is_nan<F>(raw[i])) << i;
      } else {
        ASSERT_EQ(raw[i], F::Code::encode(partial[i])) << std::hexfloat << partial[i];
      }
    }
  });
}

// Without partials there are shorter ways from raw to raw.
TYPED_TEST(FloatFormat, SumsOfRawElementsRoundAlike) {
  using F = TypeParam;
  using Bits = typename F::Bits;
  const size_t count = 2 * F::kSign;
  std::vector<Bits> all(count), result(count);
  for (size_t i = 0; i < count; ++i) all[i] = static_cast<Bits>(i);
  for (const float addend : {0.0f, 1.0f, -3.0f, 1e-3f, 250.0f, 3e38f, std::nanf("")}) {
    const std::vector<Bits> other(count, F::Code::encode(addend));
    for_each_target([&](const std::string& target) {
      SCOPED_TRACE(target);
      const Source sources[] = {{all.data(), false}, {other.data(), false}};
      void* const destination = result.data();
      Reducer::make(F::kDType, Op::sum, 2).value()({sources, 2, &destination, 1, count, false});
      for (size_t i = 0; i < count; ++i) {
        const Bits expected = F::Code::encode(F::Code::decode(all[i]) + F::Code::decode(other[i]));
        if (is_nan<F>(expected)) {
          ASSERT_TRUE(is_nan<F>(result[i])) << i << " + " << addend;
        } else {
          ASSERT_EQ(result[i], expected) << i << " + " << addend;
        }
      }
    });
  }
}

}  // namespace
}  // namespace wia
