// Element types of C++ programs: 16-bit floats, and dtype_of, which gives the wia_dtype_t of a type. Values
// only: no state, any thread.
#pragma once
#include <wia/wia.h>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace wia {
inline namespace v0 {

// As they travel. Conversions from float round to nearest even.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  explicit bfloat16(float value) {
    const auto b = std::bit_cast<std::uint32_t>(value);
    const bool nan = (b & 0x7fffffff) > 0x7f800000;
    bits = static_cast<std::uint16_t>(nan ? (b >> 16 | 0x40) : (b + 0x7fff + (b >> 16 & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

struct float16 {
  std::uint16_t bits = 0;

  float16() = default;
  explicit float16(float value) {
    const auto b = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = b >> 16 & 0x8000, magnitude = b & 0x7fffffff;
    std::uint32_t half;
    if (magnitude > 0x7f800000) {
      half = 0x7e00;  // NaN
    } else if (magnitude >= 0x477ff000) {
      half = 0x7c00;  // rounds beyond 65504: infinity
    } else if (magnitude < 0x38800000) {
      // Subnormal: adding 0.5 leaves the value, rounded to multiples of 2^-24, in the lowest bits.
      half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
    } else {
      half = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    }
    bits = static_cast<std::uint16_t>(sign | half);
  }
  explicit operator float() const {
    const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31, exponent = bits >> 10 & 31,
                        fraction = bits & 0x3ff;
    if (exponent == 0) {
      const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
      return sign ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | (exponent == 31 ? 0xffu : exponent + 112) << 23 | fraction << 13);
  }
};

// dtype_of<float>::value is WIA_FLOAT32. May be specialised for further types of the same layout.
// clang-format off
template <class T> struct dtype_of;
template <wia_dtype_t kDtype> using dtype_constant = std::integral_constant<wia_dtype_t, kDtype>;
template <> struct dtype_of<bool> : dtype_constant<WIA_BOOL> {};
template <> struct dtype_of<std::int8_t> : dtype_constant<WIA_INT8> {};
template <> struct dtype_of<std::uint8_t> : dtype_constant<WIA_UINT8> {};
template <> struct dtype_of<std::int16_t> : dtype_constant<WIA_INT16> {};
template <> struct dtype_of<std::uint16_t> : dtype_constant<WIA_UINT16> {};
template <> struct dtype_of<std::int32_t> : dtype_constant<WIA_INT32> {};
template <> struct dtype_of<std::uint32_t> : dtype_constant<WIA_UINT32> {};
template <> struct dtype_of<std::int64_t> : dtype_constant<WIA_INT64> {};
template <> struct dtype_of<std::uint64_t> : dtype_constant<WIA_UINT64> {};
template <> struct dtype_of<float16> : dtype_constant<WIA_FLOAT16> {};
template <> struct dtype_of<bfloat16> : dtype_constant<WIA_BFLOAT16> {};
template <> struct dtype_of<float> : dtype_constant<WIA_FLOAT32> {};
template <> struct dtype_of<double> : dtype_constant<WIA_FLOAT64> {};
// clang-format on

}  // namespace v0
}  // namespace wia
