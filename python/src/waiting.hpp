// While a thread waits in the library: without the GIL, and in the main thread with an eye on signals, so
// that Ctrl-C ends the wait. check() raises what a signal's handler raised.
#pragma once
#include <nanobind/nanobind.h>
#include <pythread.h>
#include <wia/wia.h>

namespace wia_python {

inline unsigned long main_thread = 0;  // set when the module is loaded

// Python's handlers run in the main thread only.
inline bool signal_raised(void*) {
  const nanobind::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

class Waiting {
 public:
  Waiting() {
    if (is_main_) wia_set_interrupted(&signal_raised, nullptr);
  }
  ~Waiting() {
    if (is_main_) wia_set_interrupted(nullptr, nullptr);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  const bool is_main_ = PyThread_get_thread_ident() == main_thread;
  const nanobind::gil_scoped_release release_;
};

}  // namespace wia_python
