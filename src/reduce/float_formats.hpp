// float16, bfloat16 and the two float8 formats as bits, and their conversions from and to float32.
//
// encode() rounds to nearest, ties to even; NaN stays NaN. What is too large becomes infinity, or NaN
// in float8_e4m3, which has no infinity ("FN": 448 is its largest number, all ones are its NaN).
// Neither direction computes with subnormal float32 numbers, so flush-to-zero modes change nothing.
// The constants serve the vector versions (float_vectors-inl.hpp) as well.
#pragma once
#include <bit>
#include <cstdint>

namespace wia {

template <int kExponentBits, int kMantissaBits, bool kHasInfinity, class BitsType>
struct SmallFloat {
  using Bits = BitsType;
  static constexpr bool kInfinity = kHasInfinity;
  static constexpr int kMagnitudeBits = kExponentBits + kMantissaBits;
  static constexpr int kShift = 23 - kMantissaBits;  // from its mantissa to that of a float32
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr uint32_t kMagnitude = (1u << kMagnitudeBits) - 1;  // all but the sign
  static constexpr uint32_t kMinNormal = 1u << kMantissaBits;
  static constexpr uint32_t kInfinityBits = kMagnitude & ~(kMinNormal - 1);  // exponent all ones
  static constexpr uint32_t kNan = kHasInfinity ? kInfinityBits | (kMinNormal >> 1) : kMagnitude;
  // From here on, numbers and differences of numbers as float32 bits.
  static constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;
  static constexpr uint32_t kRebiasInfinity = (255u << 23) - kRebias - (kInfinityBits << kShift);
  static constexpr uint32_t kMinNormal32 = kRebias + (1u << 23);
  // The least magnitude that is no longer a number: 2^(largest exponent + 1), or just above 464, which is
  // the midpoint between 448 and what would come next. (Between the largest number and that power
  // of two, rounding carries into the bits of infinity by itself.)
  static constexpr uint32_t kOverflow32 =
      kHasInfinity ? static_cast<uint32_t>(128 + kBias) << 23 : std::bit_cast<uint32_t>(464.0f) + 1;
  // Adding this to a number below kMinNormal32 leaves the bits of the subnormal result, rounded, at the
  // lower end of the mantissa.
  static constexpr uint32_t kSubnormalMagic = kRebias + (static_cast<uint32_t>(kShift + 1) << 23);
  static constexpr uint32_t kHalf = (1u << (kShift - 1)) - 1;  // one less than half a unit

  static float decode(Bits bits) {
    const uint32_t magnitude = bits & kMagnitude;
    const uint32_t sign = static_cast<uint32_t>(bits >> kMagnitudeBits) << 31;
    uint32_t result = (magnitude << kShift) + kRebias;
    if (magnitude < kMinNormal) {
      result = std::bit_cast<uint32_t>(std::bit_cast<float>(result + (1u << 23)) -
                                       std::bit_cast<float>(kMinNormal32));
    } else if (kHasInfinity && magnitude >= kInfinityBits) {
      result += kRebiasInfinity;
    } else if (!kHasInfinity && magnitude == kNan) {
      result = 0x7fc00000;
    }
    return std::bit_cast<float>(result | sign);
  }

  static Bits encode(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = bits & 0x7fffffff;
    uint32_t result;
    if (magnitude >= kOverflow32) {
      result = kHasInfinity && magnitude <= 0x7f800000 ? kInfinityBits : kNan;
    } else if (magnitude < kMinNormal32) {
      const float magic = std::bit_cast<float>(kSubnormalMagic);
      result = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + magic) - kSubnormalMagic;
    } else {
      const uint32_t odd = (magnitude >> kShift) & 1;
      result = (magnitude - kRebias + kHalf + odd) >> kShift;
    }
    return static_cast<Bits>(result | (bits >> 31) << kMagnitudeBits);
  }
};

using Float16 = SmallFloat<5, 10, true, uint16_t>;
using Float8E4M3 = SmallFloat<4, 3, false, uint8_t>;
using Float8E5M2 = SmallFloat<5, 2, true, uint8_t>;

// The upper half of a float32.
struct BFloat16 {
  using Bits = uint16_t;
  static float decode(Bits bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static Bits encode(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<Bits>(bits >> 16 | 0x40);
    return static_cast<Bits>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

}  // namespace wia
