#include "errors.hpp"

namespace nb = nanobind;

namespace wia_python {

void raise(int code, const std::string& message) {
  const nb::object error = nb::module_::import_("wia._errors").attr("error_for")(code, message);
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

void check(wia_status_t status) {
  if (PyErr_Occurred()) throw nb::python_error();
  if (status < 0) raise(status, wia_last_error_message());
}

}  // namespace wia_python
