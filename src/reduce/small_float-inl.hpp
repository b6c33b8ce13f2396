// float16, bfloat16 and float8 as formats of the block kernel. For each Highway target.
#if defined(WIA_REDUCE_SMALL_FLOAT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WIA_REDUCE_SMALL_FLOAT_INL
#undef WIA_REDUCE_SMALL_FLOAT_INL
#else
#define WIA_REDUCE_SMALL_FLOAT_INL
#endif

#include "hwy/highway.h"
#include "reduce/float_vectors-inl.hpp"
#include "reduce/reducer.hpp"

HWY_BEFORE_NAMESPACE();
namespace wia {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A format below float32 whose elements are read and written as what they are, partial or not.
template <class Code>
struct Small {
  using V = FloatVector;
  static constexpr size_t kLanes = hn::MaxLanes(FloatTag());
  static constexpr size_t kBlockVectors = 4;
  using Bits = typename Code::Bits;
  static constexpr size_t kRawBytes = sizeof(Bits), kPartialBytes = sizeof(Bits);
  static constexpr bool kSame = true;

  explicit Small(const Reducer&) {}
  template <bool kPartial>
  HWY_INLINE V load(const uint8_t* address) const {
    const auto bits = hn::LoadU(BitsTag<Code>(), reinterpret_cast<const Bits*>(address));
    return FloatVectors<Code>::decode(bits);
  }
  template <bool kPartial>
  HWY_INLINE void store(V value, uint8_t* address) const {
    const auto bits = FloatVectors<Code>::encode(value);
    hn::StoreU(bits, BitsTag<Code>(), reinterpret_cast<Bits*>(address));
  }
  template <bool kPartial>
  HWY_INLINE void stream(V value, uint8_t* address) const {
    const auto bits = FloatVectors<Code>::encode(value);
    hn::Stream(bits, BitsTag<Code>(), reinterpret_cast<Bits*>(address));
  }
  template <class Combine>
  static HWY_INLINE V combine(V a, V b) {
    return Combine::apply(a, b);
  }
};

// A format below float32 with float32 partials; where the op has a factor, raw elements are multiplied by it.
template <class Code, bool kHasFactor>
struct Widened : Small<Code> {
  using typename Small<Code>::V;
  static constexpr size_t kPartialBytes = sizeof(float);
  static constexpr bool kSame = false;

  explicit Widened(const Reducer& reducer)
      : Small<Code>(reducer), factor(hn::Set(FloatTag(), static_cast<float>(reducer.factor()))) {}
  template <bool kPartial>
  HWY_INLINE V load(const uint8_t* address) const {
    if constexpr (kPartial) return hn::LoadU(FloatTag(), reinterpret_cast<const float*>(address));
    const V value = Small<Code>::template load<false>(address);
    return kHasFactor ? hn::Mul(value, factor) : value;
  }
  template <bool kPartial>
  HWY_INLINE void store(V value, uint8_t* address) const {
    if constexpr (kPartial) {
      hn::StoreU(value, FloatTag(), reinterpret_cast<float*>(address));
    } else {
      Small<Code>::template store<false>(value, address);
    }
  }
  template <bool kPartial>
  HWY_INLINE void stream(V value, uint8_t* address) const {
    if constexpr (kPartial) {
      hn::Stream(value, FloatTag(), reinterpret_cast<float*>(address));
    } else {
      Small<Code>::template stream<false>(value, address);
    }
  }

  V factor;
};

}  // namespace HWY_NAMESPACE
}  // namespace wia
HWY_AFTER_NAMESPACE();
#endif
