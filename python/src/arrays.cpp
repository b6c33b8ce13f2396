#include "arrays.hpp"

#include <nanobind/ndarray.h>
#include <wia/wia.h>

#include <string>

namespace nb = nanobind;

namespace wia_python {
namespace {

// DLPack's codes for 8-bit floats, which nanobind has no names for.
constexpr int kFloat8E4M3 = 10, kFloat8E5M2 = 12;

// -1: the C API has none.
int dtype_of(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  if (type.lanes != 1) return -1;
  const auto by_size = [&](int b8, int b16, int b32, int b64) {
    return type.bits == 8 ? b8 : type.bits == 16 ? b16 : type.bits == 32 ? b32 : type.bits == 64 ? b64 : -1;
  };
  switch (static_cast<int>(type.code)) {
    case static_cast<int>(Code::Int):
      return by_size(WIA_INT8, WIA_INT16, WIA_INT32, WIA_INT64);
    case static_cast<int>(Code::UInt):
      return by_size(WIA_UINT8, WIA_UINT16, WIA_UINT32, WIA_UINT64);
    case static_cast<int>(Code::Float):
      return by_size(-1, WIA_FLOAT16, WIA_FLOAT32, WIA_FLOAT64);
    case static_cast<int>(Code::Bfloat):
      return by_size(-1, WIA_BFLOAT16, -1, -1);
    case static_cast<int>(Code::Bool):
      return by_size(WIA_BOOL, -1, -1, -1);
    case kFloat8E4M3:
      return by_size(WIA_FLOAT8_E4M3, -1, -1, -1);
    case kFloat8E5M2:
      return by_size(WIA_FLOAT8_E5M2, -1, -1, -1);
    default:
      return -1;
  }
}

[[noreturn]] void refuse(const char* name, const std::string& why) {
  throw nb::value_error((std::string(name) + " " + why).c_str());
}

template <class Array>
nb::tuple describe(const Array& array, nb::handle object, const char* name) {
  if (array.device_type() != nb::device::cpu::value) refuse(name, "is not in the CPU's memory");
  const int dtype = dtype_of(array.dtype());
  if (dtype < 0)
    refuse(name, "holds elements of " + std::to_string(array.dtype().bits) +
                     " bits of a type that wia does not know");
  size_t count = 1;
  for (size_t i = 0; i < array.ndim(); ++i) count *= array.shape(i);
  int64_t stride = 1;
  for (size_t i = array.ndim(); count > 0 && i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != stride)
      refuse(name, "is not contiguous (stride " + std::to_string(array.stride(i)) + " where " +
                       std::to_string(stride) + " is wanted); pass a contiguous copy");
    stride *= static_cast<int64_t>(array.shape(i));
  }
  return nb::make_tuple(reinterpret_cast<uintptr_t>(array.data()), count, dtype, nb::borrow(object));
}

}  // namespace

nb::tuple view(nb::handle object, bool writable, const char* name) {
  nb::ndarray<> array;
  if (nb::try_cast(object, array, false)) return describe(array, object, name);
  nb::ndarray<nb::ro> constant;
  if (!nb::try_cast(object, constant, false))
    refuse(name, std::string("is a ") + Py_TYPE(object.ptr())->tp_name +
                     "; wanted is an array: something with DLPack or the buffer protocol");
  if (writable) refuse(name, "is read-only");
  return describe(constant, object, name);
}

}  // namespace wia_python
