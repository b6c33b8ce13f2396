// Arrays of any library (NumPy, PyTorch, whatever has DLPack or Python's buffer protocol) as the C API wants
// them.
#pragma once
#include <nanobind/nanobind.h>

namespace wia_python {

// (address, elements, wia_dtype_t, object to keep). Raises ValueError, naming the argument, for what is not
// contiguous, not on the CPU, of an unknown type, or read-only where it is to be written.
nanobind::tuple view(nanobind::handle array, bool writable, const char* name);

}  // namespace wia_python
