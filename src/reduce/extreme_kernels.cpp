// Minimum and maximum of the types that are their own accumulators.
#include "reduce/highway_targets.hpp"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/extreme_kernels.cpp"
#include "hwy/foreach_target.h"
//
#include "reduce/block_kernel-inl.hpp"
#include "reduce/combine-inl.hpp"
#include "reduce/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace wia {
namespace HWY_NAMESPACE {

template <class Combine>
Kernel extreme_kernel(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return &BlockKernel<Plain<int8_t>, Combine>::run;
    case DType::uint8:
      return &BlockKernel<Plain<uint8_t>, Combine>::run;
    case DType::int16:
      return &BlockKernel<Plain<int16_t>, Combine>::run;
    case DType::uint16:
      return &BlockKernel<Plain<uint16_t>, Combine>::run;
    case DType::int32:
      return &BlockKernel<Plain<int32_t>, Combine>::run;
    case DType::uint32:
      return &BlockKernel<Plain<uint32_t>, Combine>::run;
    case DType::int64:
      return &BlockKernel<Plain<int64_t>, Combine>::run;
    case DType::uint64:
      return &BlockKernel<Plain<uint64_t>, Combine>::run;
    case DType::float32:
      return &BlockKernel<Plain<float>, Combine>::run;
    case DType::float64:
      return &BlockKernel<Plain<double>, Combine>::run;
    default:
      return nullptr;
  }
}

Kernel find_extreme(DType dtype, Op op) {
  switch (op) {
    case Op::min:
      return extreme_kernel<Min>(dtype);
    case Op::max:
      return extreme_kernel<Max>(dtype);
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wia
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wia {
HWY_EXPORT(find_extreme);
Kernel find_extreme_kernel(DType dtype, Op op) { return HWY_DYNAMIC_DISPATCH(find_extreme)(dtype, op); }
}  // namespace wia
#endif
