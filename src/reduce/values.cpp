// Single values as double: convenient, not fast.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "reduce/float_formats.hpp"
#include "reduce/reducer.hpp"

namespace wia {
namespace {

template <class T>
T read(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return value;
}

template <class T>
void write(T value, void* element) {
  std::memcpy(element, &value, sizeof(T));
}

template <class Code>
double decode(const void* element) {
  return static_cast<double>(Code::decode(read<typename Code::Bits>(element)));
}

// To float32 such that rounding once more gives what rounding once would have: an inexact result gets an
// odd last bit, which no tie between shorter numbers has.
float round_to_odd(double value) {
  const float rounded = static_cast<float>(value);
  const double back = static_cast<double>(rounded);
  const auto bits = std::bit_cast<uint32_t>(rounded);
  if (std::isnan(value) || back == value || (bits & 1) != 0) return rounded;
  return std::bit_cast<float>(std::fabs(back) < std::fabs(value) ? bits + 1 : bits - 1);
}

template <class Code>
void encode(double value, void* element) {
  write(Code::encode(round_to_odd(value)), element);
}

template <class T>
void write_integer(double value, void* element) {
  using Limits = std::numeric_limits<T>;
  // One more than the largest is a power of two, which a double holds; the largest itself may not be.
  const double end = std::ldexp(1.0, Limits::digits);
  T result = 0;
  if (value >= end) {
    result = Limits::max();
  } else if (value <= static_cast<double>(Limits::min())) {
    result = Limits::min();
  } else if (!std::isnan(value)) {
    result = static_cast<T>(value);
  }
  write(result, element);
}

}  // namespace

double to_double(DType type, const void* element) {
  switch (type) {
    case DType::int8:
      return read<int8_t>(element);
    case DType::uint8:
      return read<uint8_t>(element);
    case DType::int16:
      return read<int16_t>(element);
    case DType::uint16:
      return read<uint16_t>(element);
    case DType::int32:
      return read<int32_t>(element);
    case DType::uint32:
      return read<uint32_t>(element);
    case DType::int64:
      return static_cast<double>(read<int64_t>(element));
    case DType::uint64:
      return static_cast<double>(read<uint64_t>(element));
    case DType::float16:
      return decode<Float16>(element);
    case DType::bfloat16:
      return decode<BFloat16>(element);
    case DType::float32:
      return static_cast<double>(read<float>(element));
    case DType::float64:
      return read<double>(element);
    case DType::float8_e4m3:
      return decode<Float8E4M3>(element);
    case DType::float8_e5m2:
      return decode<Float8E5M2>(element);
    case DType::boolean:
      return read<uint8_t>(element) != 0 ? 1.0 : 0.0;
    case DType::token:
      break;
  }
  return static_cast<double>(read<uint64_t>(element));  // the lower half of a token
}

void from_double(DType type, double value, void* element) {
  switch (type) {
    case DType::int8:
      return write_integer<int8_t>(value, element);
    case DType::uint8:
      return write_integer<uint8_t>(value, element);
    case DType::int16:
      return write_integer<int16_t>(value, element);
    case DType::uint16:
      return write_integer<uint16_t>(value, element);
    case DType::int32:
      return write_integer<int32_t>(value, element);
    case DType::uint32:
      return write_integer<uint32_t>(value, element);
    case DType::int64:
      return write_integer<int64_t>(value, element);
    case DType::uint64:
      return write_integer<uint64_t>(value, element);
    case DType::float16:
      return encode<Float16>(value, element);
    case DType::bfloat16:
      return encode<BFloat16>(value, element);
    case DType::float32:
      return write(static_cast<float>(value), element);
    case DType::float64:
      return write(value, element);
    case DType::float8_e4m3:
      return encode<Float8E4M3>(value, element);
    case DType::float8_e5m2:
      return encode<Float8E5M2>(value, element);
    case DType::boolean:
      return write(static_cast<uint8_t>(value != 0.0), element);
    case DType::token:
      break;
  }
  std::memset(element, 0, size_of(DType::token));
  write_integer<uint64_t>(value, element);
}

}  // namespace wia
