// Monotonic time, and the one type that carries a time limit from a user's call to the innermost wait.
#pragma once
#include <time.h>

#include <cstdint>
#include <limits>

namespace wia {

// CLOCK_MONOTONIC in nanoseconds; comparable between the processes of one host.
inline int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000ll + t.tv_nsec;
}

class Deadline {
 public:
  static Deadline never() { return Deadline(std::numeric_limits<int64_t>::max()); }
  static Deadline after_ms(int64_t ms) {  // negative: never
    if (ms < 0 || ms > 1'000'000'000'000) return never();
    return Deadline(now_ns() + ms * 1'000'000);
  }
  bool passed() const { return now_ns() >= at_; }
  bool passed(int64_t now) const { return now >= at_; }
  bool is_never() const { return at_ == std::numeric_limits<int64_t>::max(); }
  // Milliseconds left, at least 0; at most `most` (for poll and friends).
  int left_ms(int most = 1'000'000) const {
    if (is_never()) return most;
    const int64_t left = (at_ - now_ns() + 999'999) / 1'000'000;
    return left < 0 ? 0 : left > most ? most : static_cast<int>(left);
  }
  Deadline earlier(Deadline other) const { return at_ < other.at_ ? *this : other; }
  int64_t at_ns() const { return at_; }

 private:
  explicit Deadline(int64_t at) : at_(at) {}
  int64_t at_;
};

}  // namespace wia
