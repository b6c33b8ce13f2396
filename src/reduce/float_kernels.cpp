// Floats that are accumulated in another format than they are stored in, or with a factor.
#include "reduce/highway_targets.hpp"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/float_kernels.cpp"
#include "hwy/foreach_target.h"
//
#include "reduce/block_kernel-inl.hpp"
#include "reduce/combine-inl.hpp"
#include "reduce/float_vectors-inl.hpp"
#include "reduce/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace wia {
namespace HWY_NAMESPACE {

// float32 or float64; each raw element is multiplied by the factor.
template <class T>
struct Scaled : Plain<T> {
  using typename Plain<T>::D;
  using typename Plain<T>::V;
  static constexpr bool kSame = false;

  explicit Scaled(const Reducer& reducer)
      : Plain<T>(reducer), factor(hn::Set(D(), static_cast<T>(reducer.factor()))) {}
  template <bool kPartial>
  HWY_INLINE V load(const uint8_t* address) const {
    const V value = Plain<T>::template load<kPartial>(address);
    return kPartial ? value : hn::Mul(value, factor);
  }

  V factor;
};

// A format below float32 whose elements are read and written as what they are, partial or not.
template <class Code>
struct Small {
  using D = FloatTag;
  using V = FloatVector;
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
};

// A format below float32 with float32 partials. The factor is 1 where the op has none: the multiplication
// costs nothing beside the conversion.
template <class Code>
struct Widened {
  using D = FloatTag;
  using V = FloatVector;
  static constexpr size_t kRawBytes = sizeof(typename Code::Bits), kPartialBytes = sizeof(float);
  static constexpr bool kSame = false;

  explicit Widened(const Reducer& reducer)
      : raw(reducer), partial(reducer), factor(hn::Set(D(), static_cast<float>(reducer.factor()))) {}
  template <bool kPartial>
  HWY_INLINE V load(const uint8_t* address) const {
    if constexpr (kPartial) {
      return partial.template load<true>(address);
    } else {
      return hn::Mul(raw.template load<false>(address), factor);
    }
  }
  template <bool kPartial>
  HWY_INLINE void store(V value, uint8_t* address) const {
    if constexpr (kPartial) {
      partial.template store<true>(value, address);
    } else {
      raw.template store<false>(value, address);
    }
  }
  template <bool kPartial>
  HWY_INLINE void stream(V value, uint8_t* address) const {
    if constexpr (kPartial) {
      partial.template stream<true>(value, address);
    } else {
      raw.template stream<false>(value, address);
    }
  }

  Small<Code> raw;
  Plain<float> partial;
  V factor;
};

template <class Code>
Kernel small_float_kernel(Op op) {
  switch (op) {
    case Op::sum:
    case Op::avg:
    case Op::premul_sum:
      return &BlockKernel<Widened<Code>, Sum>::run;
    case Op::prod:
      return &BlockKernel<Widened<Code>, Prod>::run;
    case Op::min:
      return &BlockKernel<Small<Code>, Min>::run;
    case Op::max:
      return &BlockKernel<Small<Code>, Max>::run;
    default:
      return nullptr;
  }
}

Kernel find_small_float(DType dtype, Op op) {
  switch (dtype) {
    case DType::float16:
      return small_float_kernel<Float16>(op);
    case DType::bfloat16:
      return small_float_kernel<BFloat16>(op);
    case DType::float8_e4m3:
      return small_float_kernel<Float8E4M3>(op);
    case DType::float8_e5m2:
      return small_float_kernel<Float8E5M2>(op);
    default:
      return nullptr;
  }
}

Kernel find_scaled_sum(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return &BlockKernel<Scaled<float>, Sum>::run;
    case DType::float64:
      return &BlockKernel<Scaled<double>, Sum>::run;
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wia
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wia {
HWY_EXPORT(find_small_float);
HWY_EXPORT(find_scaled_sum);
Kernel find_small_float_kernel(DType dtype, Op op) {
  return HWY_DYNAMIC_DISPATCH(find_small_float)(dtype, op);
}
Kernel find_scaled_sum_kernel(DType dtype) { return HWY_DYNAMIC_DISPATCH(find_scaled_sum)(dtype); }
}  // namespace wia
#endif
