// SipHash-2-4 (Aumasson and Bernstein, 2012): a hash that nobody can compute without the key. Proves who sent
// a short message.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wia {

struct HashKey {
  uint64_t first = 0, second = 0;
  bool operator==(const HashKey&) const = default;
};

class KeyedHash {
 public:
  explicit KeyedHash(const HashKey& key)
      : v0_(key.first ^ 0x736f6d6570736575),
        v1_(key.second ^ 0x646f72616e646f6d),
        v2_(key.first ^ 0x6c7967656e657261),
        v3_(key.second ^ 0x7465646279746573) {}

  uint64_t operator()(const void* data, size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    uint64_t word;
    for (size_t left = bytes; left >= 8; left -= 8, at += 8) {
      std::memcpy(&word, at, 8);
      absorb(word);
    }
    word = uint64_t{bytes} << 56;
    for (size_t i = 0; i < bytes % 8; ++i) word |= uint64_t{at[i]} << (8 * i);
    absorb(word);
    v2_ ^= 0xff;
    for (int round = 0; round < 4; ++round) mix();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void absorb(uint64_t word) {
    v3_ ^= word;
    mix();
    mix();
    v0_ ^= word;
  }
  void mix() {
    v0_ += v1_, v1_ = std::rotl(v1_, 13) ^ v0_, v0_ = std::rotl(v0_, 32);
    v2_ += v3_, v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_, v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_, v1_ = std::rotl(v1_, 17) ^ v2_, v2_ = std::rotl(v2_, 32);
  }
  uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace wia
