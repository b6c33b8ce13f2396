// Element types and reduction operations, their names, sizes, and which pairs make sense.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.hpp"

namespace wia {

// The numbers are those of wia_dtype_t.
enum class DType : uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3,
  float8_e5m2,
  boolean,
  token,  // 16 bytes, wrap-around addition; for verification only, not in the C API
};
constexpr int kNumDTypes = 15;  // those of the C API

// The numbers are those of wia_op_t. premul_sum: each contribution is multiplied by a factor first.
enum class Op : uint8_t { sum, prod, min, max, avg, band, bor, bxor, land, lor, premul_sum };
constexpr int kNumOps = 10;  // those of the C API

constexpr size_t size_of(DType type) {
  constexpr uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1, 1, 16};
  return sizes[static_cast<int>(type)];
}

std::string_view name_of(DType type);  // "float32"
std::string_view name_of(Op op);       // "sum"
// Accepts the full name and the usual short one ("f32", "bf16", "i64", "u8", "fp8_e4m3").
std::optional<DType> parse_dtype(std::string_view name);
std::optional<Op> parse_op(std::string_view name);

}  // namespace wia
