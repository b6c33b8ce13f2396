// Bitwise and logical operations.
#include "reduce/highway_targets.hpp"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/logic_kernels.cpp"
#include "hwy/foreach_target.h"
//
#include "reduce/block_kernel-inl.hpp"
#include "reduce/combine-inl.hpp"
#include "reduce/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace wia {
namespace HWY_NAMESPACE {

// Reads 0 as 0 and anything else as 1.
template <class T>
struct Truth : Plain<T> {
  using typename Plain<T>::D;
  using typename Plain<T>::V;
  using Plain<T>::Plain;

  template <bool kPartial>
  HWY_INLINE V load(const uint8_t* address) const {
    const V value = Plain<T>::template load<kPartial>(address);
    const auto is_true = hn::Ne(value, hn::Zero(D()));
    return hn::And(hn::VecFromMask(D(), is_true), hn::Set(D(), T{1}));
  }
};

// To bits the size of elements does not matter: they are counted as bytes.
template <class Combine>
void reduce_bits(const Reducer& reducer, const ReduceArguments& arguments) {
  ReduceArguments bytes = arguments;
  bytes.count *= reducer.raw_bytes();
  BlockKernel<Plain<uint8_t>, Combine>::run(reducer, bytes);
}

Kernel find_bitwise(Op op) {
  switch (op) {
    case Op::band:
      return &reduce_bits<And>;
    case Op::bor:
      return &reduce_bits<Or>;
    case Op::bxor:
      return &reduce_bits<Xor>;
    default:
      return nullptr;
  }
}

template <class Combine>
Kernel logical_kernel(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return &BlockKernel<Truth<uint8_t>, Combine>::run;
    case 2:
      return &BlockKernel<Truth<uint16_t>, Combine>::run;
    case 4:
      return &BlockKernel<Truth<uint32_t>, Combine>::run;
    case 8:
      return &BlockKernel<Truth<uint64_t>, Combine>::run;
    default:
      return nullptr;
  }
}

Kernel find_logical(DType dtype, Op op) {
  switch (op) {
    case Op::land:
      return logical_kernel<And>(dtype);
    case Op::lor:
      return logical_kernel<Or>(dtype);
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wia
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wia {
HWY_EXPORT(find_bitwise);
HWY_EXPORT(find_logical);
Kernel find_bitwise_kernel(Op op) { return HWY_DYNAMIC_DISPATCH(find_bitwise)(op); }
Kernel find_logical_kernel(DType dtype, Op op) { return HWY_DYNAMIC_DISPATCH(find_logical)(dtype, op); }
}  // namespace wia
#endif
