// Sums and products of the types that are their own accumulators.
#include "reduce/highway_targets.hpp"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/arithmetic_kernels.cpp"
#include "hwy/foreach_target.h"
//
#include "reduce/block_kernel-inl.hpp"
#include "reduce/combine-inl.hpp"
#include "reduce/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace wia {
namespace HWY_NAMESPACE {

template <class Combine>
Kernel arithmetic_kernel(DType dtype) {
  switch (dtype) {
    case DType::int8:
    case DType::uint8:
      return &BlockKernel<Plain<uint8_t>, Combine>::run;
    case DType::int16:
    case DType::uint16:
      return &BlockKernel<Plain<uint16_t>, Combine>::run;
    case DType::int32:
    case DType::uint32:
      return &BlockKernel<Plain<uint32_t>, Combine>::run;
    case DType::int64:
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

Kernel find_arithmetic(DType dtype, Op op) {
  switch (op) {
    case Op::sum:
      return arithmetic_kernel<Sum>(dtype);
    case Op::prod:
      return arithmetic_kernel<Prod>(dtype);
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wia
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wia {
HWY_EXPORT(find_arithmetic);
Kernel find_arithmetic_kernel(DType dtype, Op op) { return HWY_DYNAMIC_DISPATCH(find_arithmetic)(dtype, op); }
}  // namespace wia
#endif
