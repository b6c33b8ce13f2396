#include "reduce/reducer.hpp"

#include <cmath>
#include <cstring>

#include "reduce/kernels.hpp"

namespace wia {
namespace {

enum class Kind { integer, small_float, full_float, boolean, token };

Kind kind_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::bfloat16:
    case DType::float8_e4m3:
    case DType::float8_e5m2:
      return Kind::small_float;
    case DType::float32:
    case DType::float64:
      return Kind::full_float;
    case DType::boolean:
      return Kind::boolean;
    case DType::token:
      return Kind::token;
    default:
      return Kind::integer;
  }
}

Kernel find_integer_kernel(DType dtype, Op op) {
  switch (op) {
    case Op::sum:
    case Op::prod:
      return find_arithmetic_kernel(dtype, op);
    case Op::min:
    case Op::max:
      return find_extreme_kernel(dtype, op);
    case Op::avg:
      return find_integer_average_kernel(dtype);
    case Op::band:
    case Op::bor:
    case Op::bxor:
      return find_bitwise_kernel(op);
    case Op::land:
    case Op::lor:
      return find_logical_kernel(dtype, op);
    default:
      return nullptr;
  }
}

Kernel find_full_float_kernel(DType dtype, Op op) {
  switch (op) {
    case Op::sum:
    case Op::prod:
      return find_arithmetic_kernel(dtype, op);
    case Op::min:
    case Op::max:
      return find_extreme_kernel(dtype, op);
    case Op::avg:
    case Op::premul_sum:
      return find_scaled_sum_kernel(dtype);
    default:
      return nullptr;
  }
}

// To bytes that are 0 or 1 every op is a bitwise one.
Kernel find_boolean_kernel(Op op) {
  switch (op) {
    case Op::sum:
    case Op::max:
    case Op::bor:
    case Op::lor:
      return find_bitwise_kernel(Op::bor);
    case Op::prod:
    case Op::min:
    case Op::band:
    case Op::land:
      return find_bitwise_kernel(Op::band);
    case Op::bxor:
      return find_bitwise_kernel(Op::bxor);
    default:
      return nullptr;
  }
}

// nullptr: the pair makes no sense.
Kernel find_kernel(DType dtype, Op op) {
  switch (kind_of(dtype)) {
    case Kind::integer:
      return find_integer_kernel(dtype, op);
    case Kind::small_float:
      return find_small_float_kernel(dtype, op);
    case Kind::full_float:
      return find_full_float_kernel(dtype, op);
    case Kind::boolean:
      return find_boolean_kernel(op);
    case Kind::token:
      return op == Op::sum ? find_token_kernel() : nullptr;
  }
  return nullptr;
}

size_t partial_bytes_of(DType dtype, Op op) {
  const size_t raw = size_of(dtype);
  if (kind_of(dtype) == Kind::small_float && op != Op::min && op != Op::max) return sizeof(float);
  if (kind_of(dtype) == Kind::integer && op == Op::avg) return raw == 8 ? 16 : 8;
  return raw;
}

}  // namespace

Result<Reducer> Reducer::make(DType dtype, Op op, int ranks, double factor) {
  if (ranks < 1) return Status::error(Code::invalid_argument, "ranks is {}, must be at least 1", ranks);
  const bool known = dtype <= DType::token && op <= Op::premul_sum;
  Reducer reducer;
  reducer.function_ = known ? find_kernel(dtype, op) : nullptr;
  if (reducer.function_ == nullptr)
    return Status::error(Code::unsupported, "op {} is not defined for dtype {}", name_of(op), name_of(dtype));
  reducer.raw_bytes_ = size_of(dtype);
  reducer.partial_bytes_ = partial_bytes_of(dtype, op);
  if (op == Op::avg && kind_of(dtype) != Kind::integer) reducer.factor_ = 1.0 / ranks;
  // A NaN is any NaN; this one keeps its lower half zero in float32 (bfloat16_pairs-inl.hpp counts on it).
  if (op == Op::premul_sum) reducer.factor_ = std::isnan(factor) ? std::nan("") : factor;
  reducer.ranks_ = ranks;
  return reducer;
}

void copy_to_all(void* const* destinations, int num_destinations, const void* source, size_t bytes,
                 bool streaming) {
  if (num_destinations == 1 && !streaming) {
    if (bytes > 0 && destinations[0] != source) std::memcpy(destinations[0], source, bytes);
    return;
  }
  // "or" of one source is that source.
  static const Reducer copier = Reducer::make(DType::uint8, Op::bor, 1).value();
  const Source sources[] = {{source, false}};
  copier({sources, 1, destinations, num_destinations, bytes, false, streaming ? num_destinations : 0});
}

}  // namespace wia
