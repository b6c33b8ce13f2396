// Unpredictable bits from the system, for secrets, names and nonces. Thread safe.
#pragma once
#include <sys/random.h>

#include <cstdint>
#include <string>

namespace wia {

inline uint64_t random_bits() {
  uint64_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != sizeof bits) {
  }
  return bits;
}

// 32 hexadecimal digits.
inline std::string random_name() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string name;
  for (int half = 0; half < 2; ++half)
    for (uint64_t bits = random_bits(), digit = 0; digit < 16; ++digit, bits >>= 4)
      name += kDigits[bits & 15];
  return name;
}

}  // namespace wia
