// Outcome of an operation: a code, and for errors a text for people.
//
// A Status is a value: moved, never thrown. Success allocates nothing. Whoever decides that
// something is an error writes the text once; callers pass it on unchanged.
// The numbers are those of wia_status_t; the hundreds say what is lost (call, link, peer,
// communicator).
#pragma once
#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace wia {

enum class Code : int {
  ok = 0,
  in_progress = 1,
  // This call failed; the communicator is as it was.
  invalid_argument = -1,
  unsupported = -2,
  out_of_memory = -3,
  truncated = -4,
  not_initialized = -5,
  system = -6,
  busy = -7,
  // A link or a service is lost.
  unreachable = -100,
  protocol = -101,
  // A peer is lost or missing.
  peer_failed = -200,
  timeout = -201,
  // The communicator is lost.
  mismatch = -300,
  aborted = -301,
  destroyed = -302,
  forked = -303,
};

const char* code_name(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string text) : code_(code), text_(std::make_unique<std::string>(std::move(text))) {}
  template <class... Args>
  static Status error(Code code, fmt::format_string<Args...> format, Args&&... args) {
    return Status(code, fmt::format(format, std::forward<Args>(args)...));
  }

  bool ok() const { return code_ == Code::ok; }
  explicit operator bool() const { return ok(); }
  Code code() const { return code_; }
  const std::string& text() const {
    static const std::string empty;
    return text_ ? *text_ : empty;
  }
  Status copy() const { return ok() ? Status() : Status(code_, text()); }

 private:
  Code code_ = Code::ok;
  std::unique_ptr<std::string> text_;
};

// A value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}         // NOLINT: meant to be implicit
  Result(Status status) : held_(std::in_place_index<1>, std::move(status)) {}  // NOLINT: meant to be implicit
  bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Only while ok().
  T& value() { return *std::get_if<0>(&held_); }
  const T& value() const { return *std::get_if<0>(&held_); }
  T* operator->() { return &value(); }
  T& operator*() { return value(); }
  const Status& status() const {
    static const Status success;
    return ok() ? success : *std::get_if<1>(&held_);
  }
  Status take_status() { return ok() ? Status() : std::move(*std::get_if<1>(&held_)); }

 private:
  // A variant, not an optional beside a Status: g++ 12 warns wrongly about optional strings it has inlined.
  std::variant<T, Status> held_;
};

// Leaves the enclosing function with the status of `expression` if that is an error.
#define WIA_RETURN_IF_ERROR(expression)                                      \
  do {                                                                       \
    if (auto wia_status = (expression); !wia_status.ok()) return wia_status; \
  } while (0)

}  // namespace wia
