// Floats that are accumulated in another format than they are stored in, or with a factor.
#include "reduce/highway_targets.hpp"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/float_kernels.cpp"
#include "hwy/foreach_target.h"
//
#include "reduce/bfloat16_pairs-inl.hpp"
#include "reduce/block_kernel-inl.hpp"
#include "reduce/combine-inl.hpp"
#include "reduce/kernels.hpp"
#include "reduce/small_float-inl.hpp"

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

// The ops of a format whose partials are raw elements, and of one whose partials are float32. Where all of a
// reduction is raw, formats that can be faster then are.
template <class Code>
struct SmallFloatKernels {
  template <class Combine>
  static constexpr Kernel kNarrow = &BlockKernel<Small<Code>, Combine>::run;
  template <bool kHasFactor, class Combine>
  static constexpr Kernel kWide = &BlockKernel<Widened<Code, kHasFactor>, Combine>::run;
};

#if HWY_TARGET != HWY_SCALAR
template <bool kHasFactor, class Combine>
void reduce_bfloat16(const Reducer& reducer, const ReduceArguments& arguments) {
  bool any_partial = arguments.partial_result;
  for (int s = 0; s < arguments.num_sources; ++s) any_partial |= arguments.sources[s].partial;
  if (any_partial) {
    BlockKernel<Widened<BFloat16, kHasFactor>, Combine>::run(reducer, arguments);
  } else {
    BlockKernel<BFloat16Pairs<kHasFactor>, Combine>::run(reducer, arguments);
  }
}

template <>
struct SmallFloatKernels<BFloat16> {
  template <class Combine>
  static constexpr Kernel kNarrow = &BlockKernel<BFloat16Pairs<false>, Combine>::run;
  template <bool kHasFactor, class Combine>
  static constexpr Kernel kWide = &reduce_bfloat16<kHasFactor, Combine>;
};
#endif

template <class Code>
Kernel small_float_kernel(Op op) {
  using Kernels = SmallFloatKernels<Code>;
  switch (op) {
    case Op::sum:
      return Kernels::template kWide<false, Sum>;
    case Op::prod:
      return Kernels::template kWide<false, Prod>;
    case Op::avg:
    case Op::premul_sum:
      return Kernels::template kWide<true, Sum>;
    case Op::min:
      return Kernels::template kNarrow<Min>;
    case Op::max:
      return Kernels::template kNarrow<Max>;
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
