// Data of the field cases: every element differs from its neighbours and from other ranks', and every buffer
// stands between guard bytes. Used inside ranks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "field/ranks.hpp"

namespace wia::field {

inline int64_t value(int rank, size_t i) {
  return ((rank + 1) * 1000003 + static_cast<int64_t>(i) * 7919) & ((1 << 20) - 1);
}
inline int64_t sum(int ranks, size_t i) {
  int64_t total = 0;
  for (int r = 0; r < ranks; ++r) total += value(r, i);
  return total;
}

// `count` elements between 64 guard bytes on both sides. Memory of malloc or of wia_alloc; `shift` moves it
// so many bytes off its alignment.
template <class T = int64_t>
class Buffer {
 public:
  explicit Buffer(size_t count, bool shared = false, size_t shift = 0)
      : bytes_(count * sizeof(T)), shared_(shared), shift_(shift) {
    const size_t all = bytes_ + 2 * kGuardBytes + shift;
    memory_ = static_cast<unsigned char*>(shared ? wia_alloc(all) : std::malloc(all));
    std::memset(memory_, kGuard, all);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { shared_ ? wia_free(memory_) : std::free(memory_); }

  unsigned char* bytes() { return memory_ + shift_ + kGuardBytes; }
  T* data() { return reinterpret_cast<T*>(bytes()); }
  // Through memcpy: the address may not suit T.
  T get(size_t i) {
    T element;
    std::memcpy(&element, bytes() + i * sizeof(T), sizeof(T));
    return element;
  }
  void set(size_t i, T element) { std::memcpy(bytes() + i * sizeof(T), &element, sizeof(T)); }
  void fill(int rank) {
    for (size_t i = 0; i < bytes_ / sizeof(T); ++i) set(i, static_cast<T>(value(rank, i)));
  }
  bool intact() {
    for (size_t i = 0; i < kGuardBytes; ++i)
      if (bytes()[-1 - static_cast<ptrdiff_t>(i)] != kGuard || bytes()[bytes_ + i] != kGuard) return false;
    return true;
  }

 private:
  static constexpr size_t kGuardBytes = 64;
  static constexpr unsigned char kGuard = 0x5a;
  const size_t bytes_;
  const bool shared_;
  const size_t shift_;
  unsigned char* memory_;
};

// The communicator works: a sum over three elements is right.
inline int check_sum(wia_communicator_t* comm, size_t count = 3) {
  Buffer<> x(count);
  x.fill(wia_rank(comm));
  WIA_OK(wia_all_reduce(x.data(), x.data(), count, WIA_INT64, WIA_OP_SUM, comm, nullptr));
  for (size_t i = 0; i < count; ++i) WIA_CHECK(x.get(i) == sum(wia_size(comm), i));
  WIA_CHECK(x.intact());
  return 0;
}

}  // namespace wia::field
