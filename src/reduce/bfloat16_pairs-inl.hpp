// Vectors of bfloat16 that are raw on both sides, without a conversion. For each Highway target.
//
// A bfloat16 is the upper half of a float32. So a vector of words, each with two elements, is one vector
// of float32 after masking (the elements at odd places) and another after shifting (those at even places);
// they are combined as they are, rounded, and put together again. Widening and narrowing instead, as
// for the other formats, would move elements across the vector twice and halve the speed.
//
// No lane has to be asked whether it is NaN before it is rounded: rounding spoils a NaN only by a carry out
// of its lower half, and here that half is zero, for it comes from a bfloat16, from the CPU's default NaN, or
// from a factor that make() has seen to.
#if defined(WIA_REDUCE_BFLOAT16_PAIRS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WIA_REDUCE_BFLOAT16_PAIRS_INL
#undef WIA_REDUCE_BFLOAT16_PAIRS_INL
#else
#define WIA_REDUCE_BFLOAT16_PAIRS_INL
#endif

#include "hwy/highway.h"
#include "reduce/float_vectors-inl.hpp"
#include "reduce/reducer.hpp"

HWY_BEFORE_NAMESPACE();
namespace wia {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR  // which has no vectors to hold a pair

template <bool kHasFactor>
struct BFloat16Pairs {
  struct V {
    FloatVector even, odd;
  };
  static constexpr size_t kLanes = 2 * hn::MaxLanes(FloatTag());
  static constexpr size_t kBlockVectors = 2;  // of two registers each
  static constexpr size_t kRawBytes = sizeof(uint16_t), kPartialBytes = sizeof(uint16_t);
  static constexpr bool kSame = true;

  explicit BFloat16Pairs(const Reducer& reducer)
      : factor(hn::Set(FloatTag(), static_cast<float>(reducer.factor()))) {}

  template <bool kPartial>
  HWY_INLINE V load(const uint8_t* address) const {
    const WordTag du;
    const auto words = hn::LoadU(du, reinterpret_cast<const uint32_t*>(address));
    V pair = {hn::BitCast(FloatTag(), hn::ShiftLeft<16>(words)),
              hn::BitCast(FloatTag(), hn::And(words, hn::Set(du, 0xffff0000u)))};
    if constexpr (kHasFactor) pair = {hn::Mul(pair.even, factor), hn::Mul(pair.odd, factor)};
    return pair;
  }
  template <class Combine>
  static HWY_INLINE V combine(V a, V b) {
    return {Combine::apply(a.even, b.even), Combine::apply(a.odd, b.odd)};
  }
  template <bool kPartial>
  HWY_INLINE void store(V pair, uint8_t* address) const {
    hn::StoreU(encode(pair), WordTag(), reinterpret_cast<uint32_t*>(address));
  }
  template <bool kPartial>
  HWY_INLINE void stream(V pair, uint8_t* address) const {
    hn::Stream(encode(pair), WordTag(), reinterpret_cast<uint32_t*>(address));
  }

 private:
  // The upper halves of the result are the rounded elements.
  static HWY_INLINE hn::Vec<WordTag> round(FloatVector value) {
    const WordTag du;
    const auto words = hn::BitCast(du, value);
    const auto odd = hn::And(hn::ShiftRight<16>(words), hn::Set(du, 1u));
    return hn::Add(hn::Add(words, hn::Set(du, 0x7fffu)), odd);
  }
  static HWY_INLINE hn::Vec<WordTag> encode(V pair) {
    const hn::Repartition<uint16_t, WordTag> d16;
    const auto even = hn::BitCast(d16, hn::ShiftRight<16>(round(pair.even)));
    return hn::BitCast(WordTag(), hn::OddEven(hn::BitCast(d16, round(pair.odd)), even));
  }

  FloatVector factor;
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace wia
HWY_AFTER_NAMESPACE();
#endif
