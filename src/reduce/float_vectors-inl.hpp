// Vectors of float16, bfloat16 and float8 from and to float32. For each Highway target.
//
// The same values as float_formats.hpp, whose algorithms these are, lane by lane. Highway's own
// conversions are used only where they are an instruction that rounds to nearest even: where it
// computes them (before AVX2) it truncates and does not know infinities, and its bfloat16 truncates.
#if defined(WIA_REDUCE_FLOAT_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WIA_REDUCE_FLOAT_VECTORS_INL
#undef WIA_REDUCE_FLOAT_VECTORS_INL
#else
#define WIA_REDUCE_FLOAT_VECTORS_INL
#endif

#include "hwy/highway.h"
#include "reduce/float_formats.hpp"

// Whether this target converts float16 by an instruction.
#undef WIA_NATIVE_FLOAT16
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define WIA_NATIVE_FLOAT16 1
#else
#define WIA_NATIVE_FLOAT16 0
#endif

HWY_BEFORE_NAMESPACE();
namespace wia {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
using WordTag = hn::RebindToUnsigned<FloatTag>;  // the float32 bits
template <class Code>
using BitsTag = hn::Rebind<typename Code::Bits, FloatTag>;
template <class Code>
using BitsVector = hn::Vec<BitsTag<Code>>;

// Cuts words, whose upper parts are 0, down to the size of the format. Signed, because that has been in every
// version of Highway on every target.
template <class Code>
HWY_INLINE BitsVector<Code> narrow(hn::Vec<WordTag> words) {
  return hn::DemoteTo(BitsTag<Code>(), hn::BitCast(hn::RebindToSigned<FloatTag>(), words));
}

// Where words reach a limit; neither uses the upper bit, so the comparison may be the cheaper signed one.
HWY_INLINE hn::Mask<WordTag> reach(hn::Vec<WordTag> words, uint32_t limit) {
  const hn::RebindToSigned<FloatTag> di;
  const auto below = hn::Set(di, static_cast<int32_t>(limit) - 1);
  return hn::RebindMask(WordTag(), hn::Gt(hn::BitCast(di, words), below));
}

template <class Code>
struct FloatVectors {
  static HWY_INLINE FloatVector decode(BitsVector<Code> bits) {
    const FloatTag df;
    const WordTag du;
    const auto words = hn::PromoteTo(du, bits);
    const auto magnitude = hn::And(words, hn::Set(du, Code::kMagnitude));
    const auto sign = hn::ShiftLeft<31 - Code::kMagnitudeBits>(hn::Xor(words, magnitude));
    const auto normal = hn::Add(hn::ShiftLeft<Code::kShift>(magnitude), hn::Set(du, Code::kRebias));
    const auto above = hn::BitCast(df, hn::Add(normal, hn::Set(du, 1u << 23)));
    const auto base = hn::BitCast(df, hn::Set(du, Code::kMinNormal32));
    const auto subnormal = hn::BitCast(du, hn::Sub(above, base));
    auto result = hn::IfThenElse(reach(magnitude, Code::kMinNormal), normal, subnormal);
    if constexpr (Code::kInfinity) {
      const auto special = reach(magnitude, Code::kInfinityBits);
      result = hn::IfThenElse(special, hn::Add(normal, hn::Set(du, Code::kRebiasInfinity)), result);
    } else {
      const auto nan = hn::Eq(magnitude, hn::Set(du, Code::kNan));
      result = hn::IfThenElse(nan, hn::Set(du, 0x7fc00000u), result);
    }
    return hn::BitCast(df, hn::Or(result, sign));
  }

  static HWY_INLINE BitsVector<Code> encode(FloatVector value) {
    const FloatTag df;
    const WordTag du;
    const auto words = hn::BitCast(du, value);
    const auto magnitude = hn::And(words, hn::Set(du, 0x7fffffffu));
    const auto sign = hn::ShiftRight<31 - Code::kMagnitudeBits>(hn::Xor(words, magnitude));
    const auto odd = hn::And(hn::ShiftRight<Code::kShift>(magnitude), hn::Set(du, 1u));
    const auto rounding = hn::Set(du, Code::kHalf - Code::kRebias);
    const auto normal = hn::ShiftRight<Code::kShift>(hn::Add(hn::Add(magnitude, rounding), odd));
    const auto magic = hn::Set(du, Code::kSubnormalMagic);
    const auto sum = hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, magic));
    const auto subnormal = hn::Sub(hn::BitCast(du, sum), magic);
    auto result = hn::IfThenElse(reach(magnitude, Code::kMinNormal32), normal, subnormal);
    auto too_large = hn::Set(du, Code::kNan);
    if constexpr (Code::kInfinity) {
      const auto nan = reach(magnitude, 0x7f800001);
      too_large = hn::IfThenElse(nan, too_large, hn::Set(du, Code::kInfinityBits));
    }
    result = hn::IfThenElse(reach(magnitude, Code::kOverflow32), too_large, result);
    return narrow<Code>(hn::Or(result, sign));
  }
};

#if WIA_NATIVE_FLOAT16
template <>
struct FloatVectors<Float16> {
  using HalfTag = hn::Rebind<hwy::float16_t, FloatTag>;
  static HWY_INLINE FloatVector decode(BitsVector<Float16> bits) {
    return hn::PromoteTo(FloatTag(), hn::BitCast(HalfTag(), bits));
  }
  static HWY_INLINE BitsVector<Float16> encode(FloatVector value) {
    return hn::BitCast(BitsTag<Float16>(), hn::DemoteTo(HalfTag(), value));
  }
};
#endif

template <>
struct FloatVectors<BFloat16> {
  static HWY_INLINE FloatVector decode(BitsVector<BFloat16> bits) {
    return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(WordTag(), bits)));
  }
  static HWY_INLINE BitsVector<BFloat16> encode(FloatVector value) {
    const WordTag du;
    const auto words = hn::BitCast(du, value);
    const auto upper = hn::ShiftRight<16>(words);
    const auto odd = hn::And(upper, hn::Set(du, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(words, hn::Set(du, 0x7fffu)), odd));
    const auto is_nan = hn::RebindMask(du, hn::IsNaN(value));
    return narrow<BFloat16>(hn::IfThenElse(is_nan, hn::Or(upper, hn::Set(du, 0x40u)), rounded));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace wia
HWY_AFTER_NAMESPACE();
#endif
