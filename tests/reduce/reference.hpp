// What a reduction must give, one element at a time, written for plainness: no blocks, no vectors.
#pragma once
#include <cmath>
#include <cstring>
#include <vector>

#include "reduce/dtype.hpp"
#include "reduce/float_formats.hpp"
#include "reduce/reducer.hpp"

namespace wia::reference {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

struct Operand {
  const uint8_t* address;
  bool partial;
};

struct Reduction {
  DType dtype;
  Op op;
  int ranks;
  double factor;  // of premul_sum
  bool partial_result;
};

inline bool is_small_float(DType type) {
  return type == DType::float16 || type == DType::bfloat16 || type == DType::float8_e4m3 ||
         type == DType::float8_e5m2;
}
inline bool is_float(DType type) {
  return is_small_float(type) || type == DType::float32 || type == DType::float64;
}
inline bool is_signed(DType type) {
  return type == DType::int8 || type == DType::int16 || type == DType::int32 || type == DType::int64;
}

// The pairs that are defined.
inline bool is_valid(DType type, Op op) {
  if (type == DType::token) return op == Op::sum;
  const bool arithmetic = op == Op::sum || op == Op::prod || op == Op::min || op == Op::max;
  if (is_float(type)) return arithmetic || op == Op::avg || op == Op::premul_sum;
  if (op == Op::premul_sum) return false;
  return type != DType::boolean || op != Op::avg;
}

inline size_t partial_bytes(DType type, Op op) {
  if (is_small_float(type)) return op == Op::min || op == Op::max ? size_of(type) : 4;
  if (op == Op::avg && !is_float(type)) return size_of(type) == 8 ? 16 : 8;
  return size_of(type);
}

template <class T>
T combine_floats(Op op, T a, T b) {
  switch (op) {
    case Op::prod:
      return a * b;
    case Op::min:
      return std::isnan(a) || std::isnan(b) ? std::nanf("") : std::min(a, b);
    case Op::max:
      return std::isnan(a) || std::isnan(b) ? std::nanf("") : std::max(a, b);
    default:
      return a + b;
  }
}

inline Uint128 combine_integers(const Reduction& r, Uint128 a, Uint128 b) {
  const bool is_bool = r.dtype == DType::boolean;
  const bool less = static_cast<Int128>(a) < static_cast<Int128>(b);
  switch (r.op) {
    case Op::sum:
      return is_bool ? (a | b) : a + b;
    case Op::prod:
      return a * b;
    case Op::min:
      return less ? a : b;
    case Op::max:
      return less ? b : a;
    case Op::band:
      return a & b;
    case Op::bor:
      return a | b;
    case Op::bxor:
      return a ^ b;
    case Op::land:
      return a != 0 && b != 0;
    case Op::lor:
      return a != 0 || b != 0;
    default:
      return a + b;
  }
}

template <class T>
T get(const uint8_t* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

template <class Code>
float get_code(const uint8_t* address) {
  return Code::decode(get<typename Code::Bits>(address));
}

inline float get_small_float(DType type, const uint8_t* address) {
  switch (type) {
    case DType::float16:
      return get_code<Float16>(address);
    case DType::bfloat16:
      return get_code<BFloat16>(address);
    case DType::float8_e4m3:
      return get_code<Float8E4M3>(address);
    default:
      return get_code<Float8E5M2>(address);
  }
}

inline void put_small_float(DType type, float value, uint8_t* out) {
  const uint16_t bits = type == DType::float16       ? Float16::encode(value)
                        : type == DType::bfloat16    ? BFloat16::encode(value)
                        : type == DType::float8_e4m3 ? Float8E4M3::encode(value)
                                                     : Float8E5M2::encode(value);
  std::memcpy(out, &bits, size_of(type));
}

// Sign or zero extended.
inline Uint128 get_integer(const uint8_t* address, size_t bytes, bool with_sign) {
  Uint128 value = 0;
  std::memcpy(&value, address, bytes);
  const size_t unused = 128 - 8 * bytes;
  if (!with_sign || unused == 0) return value;
  return static_cast<Uint128>(static_cast<Int128>(value << unused) >> unused);
}

template <class T>
T factor_of(const Reduction& r) {
  if (r.op == Op::avg) return static_cast<T>(1.0 / r.ranks);
  return r.op == Op::premul_sum ? static_cast<T>(r.factor) : T{1};
}

template <class T, class Get>
T reduce_floats(const Reduction& r, const std::vector<Operand>& operands, Get get_operand) {
  T result = get_operand(operands[0]);
  for (size_t i = 1; i < operands.size(); ++i)
    result = combine_floats(r.op, result, get_operand(operands[i]));
  return result;
}

inline void reduce_small_floats(const Reduction& r, const std::vector<Operand>& operands, uint8_t* out) {
  const bool wide = partial_bytes(r.dtype, r.op) == 4;
  const float result = reduce_floats<float>(r, operands, [&](const Operand& o) {
    if (o.partial && wide) return get<float>(o.address);
    return get_small_float(r.dtype, o.address) * factor_of<float>(r);
  });
  if (r.partial_result && wide) {
    std::memcpy(out, &result, 4);
  } else {
    put_small_float(r.dtype, result, out);
  }
}

template <class T>
void reduce_full_floats(const Reduction& r, const std::vector<Operand>& operands, uint8_t* out) {
  const T result = reduce_floats<T>(r, operands, [&](const Operand& o) {
    return o.partial ? get<T>(o.address) : get<T>(o.address) * factor_of<T>(r);
  });
  std::memcpy(out, &result, sizeof(T));
}

inline void reduce_integers(const Reduction& r, const std::vector<Operand>& operands, uint8_t* out) {
  const size_t raw = size_of(r.dtype), partial = partial_bytes(r.dtype, r.op);
  auto value_of = [&](const Operand& o) {
    const bool wide = o.partial && partial != raw;
    return get_integer(o.address, o.partial ? partial : raw, wide || is_signed(r.dtype));
  };
  Uint128 result = value_of(operands[0]);
  if (r.op == Op::land || r.op == Op::lor) result = result != 0;
  for (size_t i = 1; i < operands.size(); ++i) result = combine_integers(r, result, value_of(operands[i]));
  if (r.op == Op::avg && !r.partial_result)
    result = static_cast<Uint128>(static_cast<Int128>(result) / r.ranks);
  std::memcpy(out, &result, r.partial_result ? partial : raw);
}

inline void reduce(const Reduction& r, const std::vector<Operand>& operands, uint8_t* out) {
  if (is_small_float(r.dtype)) return reduce_small_floats(r, operands, out);
  if (r.dtype == DType::float32) return reduce_full_floats<float>(r, operands, out);
  if (r.dtype == DType::float64) return reduce_full_floats<double>(r, operands, out);
  reduce_integers(r, operands, out);
}

// Whether two results are the same: bit by bit, except that all NaNs are alike, and for min and max
// (where either may come out) both zeros.
inline bool same(const Reduction& r, const uint8_t* a, const uint8_t* b) {
  const size_t bytes = r.partial_result ? partial_bytes(r.dtype, r.op) : size_of(r.dtype);
  if (std::memcmp(a, b, bytes) == 0) return true;
  if (!is_float(r.dtype)) return false;
  const DType type = is_small_float(r.dtype) && bytes == 4 ? DType::float32 : r.dtype;
  const double x = to_double(type, a), y = to_double(type, b);
  if (std::isnan(x) && std::isnan(y)) return true;
  return (r.op == Op::min || r.op == Op::max) && x == y;
}

}  // namespace wia::reference
