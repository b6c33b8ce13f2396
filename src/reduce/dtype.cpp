#include "reduce/dtype.hpp"

namespace wia {
namespace {

struct DTypeName {
  std::string_view name;
  DType type;
};

// The first name of each type is the full one, in the order of the enumeration.
constexpr DTypeName kDTypeNames[] = {
    {"int8", DType::int8},
    {"uint8", DType::uint8},
    {"int16", DType::int16},
    {"uint16", DType::uint16},
    {"int32", DType::int32},
    {"uint32", DType::uint32},
    {"int64", DType::int64},
    {"uint64", DType::uint64},
    {"float16", DType::float16},
    {"bfloat16", DType::bfloat16},
    {"float32", DType::float32},
    {"float64", DType::float64},
    {"float8_e4m3", DType::float8_e4m3},
    {"float8_e5m2", DType::float8_e5m2},
    {"bool", DType::boolean},
    // Not of the C API: has a name for messages, but cannot be asked for by it.
    {"token", DType::token},
    {"i8", DType::int8},
    {"u8", DType::uint8},
    {"i16", DType::int16},
    {"u16", DType::uint16},
    {"i32", DType::int32},
    {"u32", DType::uint32},
    {"i64", DType::int64},
    {"u64", DType::uint64},
    {"f16", DType::float16},
    {"fp16", DType::float16},
    {"half", DType::float16},
    {"bf16", DType::bfloat16},
    {"f32", DType::float32},
    {"fp32", DType::float32},
    {"float", DType::float32},
    {"f64", DType::float64},
    {"fp64", DType::float64},
    {"double", DType::float64},
    {"fp8_e4m3", DType::float8_e4m3},
    {"f8e4m3", DType::float8_e4m3},
    {"float8_e4m3fn", DType::float8_e4m3},
    {"fp8_e5m2", DType::float8_e5m2},
    {"f8e5m2", DType::float8_e5m2},
    {"boolean", DType::boolean},
};

constexpr std::string_view kOpNames[] = {"sum", "prod", "min",  "max", "avg",       "band",
                                         "bor", "bxor", "land", "lor", "premul_sum"};

}  // namespace

std::string_view name_of(DType type) {
  const auto index = static_cast<size_t>(type);
  return index <= static_cast<size_t>(DType::token) ? kDTypeNames[index].name : "unknown dtype";
}

std::string_view name_of(Op op) {
  const auto index = static_cast<size_t>(op);
  return index < std::size(kOpNames) ? kOpNames[index] : "unknown op";
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeName& entry : kDTypeNames)
    if (entry.name == name && entry.type != DType::token) return entry.type;
  return std::nullopt;
}

std::optional<Op> parse_op(std::string_view name) {
  for (size_t i = 0; i < std::size(kOpNames); ++i)
    if (kOpNames[i] == name) return static_cast<Op>(i);
  return std::nullopt;
}

}  // namespace wia
