// The functions behind a Reducer, one for each kind of element and op; each finds the one for this CPU.
//
// Internal to the layer. A function that does not know the pair returns nullptr. All keep the contract
// of reducer.hpp: sources in order, nothing allocated, destinations may equal sources.
#pragma once
#include "reduce/dtype.hpp"
#include "reduce/reducer.hpp"

namespace wia {

using Kernel = void (*)(const Reducer&, const ReduceArguments&);

// sum, prod of integers, float32 and float64.
Kernel find_arithmetic_kernel(DType dtype, Op op);
// min, max of integers, float32 and float64.
Kernel find_extreme_kernel(DType dtype, Op op);
// band, bor, bxor; elements of any size.
Kernel find_bitwise_kernel(Op op);
// land, lor of integers.
Kernel find_logical_kernel(DType dtype, Op op);
// sum, prod, avg, premul_sum, min, max of float16, bfloat16 and float8.
Kernel find_small_float_kernel(DType dtype, Op op);
// avg, premul_sum of float32 and float64.
Kernel find_scaled_sum_kernel(DType dtype);
// avg of integers.
Kernel find_integer_average_kernel(DType dtype);
// sum of tokens.
Kernel find_token_kernel();

}  // namespace wia
