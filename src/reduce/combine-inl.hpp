// How two vectors of accumulators become one. For each Highway target; see block_kernel-inl.hpp.
#if defined(WIA_REDUCE_COMBINE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WIA_REDUCE_COMBINE_INL
#undef WIA_REDUCE_COMBINE_INL
#else
#define WIA_REDUCE_COMBINE_INL
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wia {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Sum {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Add(a, b);
  }
};

// Integers are unsigned here: the product's low bits are the same, and wrapping around is defined.
struct Prod {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    using D = hn::DFromV<V>;
    using T = hn::TFromD<D>;
    if constexpr (std::is_floating_point_v<T>) {
      return hn::Mul(a, b);
    } else if constexpr (hn::MaxLanes(D()) == 1) {
      return hn::Set(D(), static_cast<T>(static_cast<uint64_t>(hn::GetLane(a)) * hn::GetLane(b)));
    } else if constexpr (sizeof(T) == 1) {
      return multiply_bytes(a, b);
    } else {
      return hn::Mul(a, b);
    }
  }

 private:
  // Bytes at even and at odd places are multiplied in 16-bit lanes of their own.
  template <class V>
  static HWY_INLINE V multiply_bytes(V a, V b) {
    const hn::DFromV<V> d8;
    const hn::Repartition<uint16_t, decltype(d8)> d16;
    const auto a16 = hn::BitCast(d16, a), b16 = hn::BitCast(d16, b);
    const auto even = hn::And(hn::Mul(a16, b16), hn::Set(d16, 0xff));
    const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16)));
    return hn::BitCast(d8, hn::Or(even, odd));
  }
};

// Where neither is less, the second is taken: on every target and for every pair of zeros alike.
// A NaN is less than nothing, so one in b wins by itself and one in a must be asked for (by IsNaN: Ne is
// false for NaN on some targets).
struct Min {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromV<V>>) {
      return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
    } else {
      return hn::Min(a, b);
    }
  }
};

struct Max {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromV<V>>) {
      return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(a)), a, b);
    } else {
      return hn::Max(a, b);
    }
  }
};

struct And {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::And(a, b);
  }
};

struct Or {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Or(a, b);
  }
};

struct Xor {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Xor(a, b);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace wia
HWY_AFTER_NAMESPACE();
#endif
