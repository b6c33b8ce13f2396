// From the C API's status codes to Python's exceptions.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <wia/wia.h>

#include <string>

namespace wia_python {

// Raises what wia._errors makes of the code and the text.
[[noreturn]] void raise(int code, const std::string& message);
// The outcome of a C call that this thread has just made, while it holds the GIL. A signal's exception goes
// before the library's error, which only says that the call was interrupted.
void check(wia_status_t status);

}  // namespace wia_python
