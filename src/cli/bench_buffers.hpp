// The buffers of one line of `wia bench` on one rank, and the call on them.
//
// Not thread safe. 64 guard bytes lie before and after each buffer.
#pragma once
#include <cstddef>

#include "cli/bench_data.hpp"
#include "wia/wia.h"

namespace wia::cli::bench {

// Throws std::runtime_error when there is no memory.
class GuardedMemory {
 public:
  GuardedMemory(size_t bytes, bool from_wia);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* data() const;
  void poison();
  size_t damaged() const;  // guard bytes that were written

 private:
  const size_t bytes_;
  const bool from_wia_;
  std::byte* memory_ = nullptr;
};

class Buffers {
 public:
  Buffers(const Cell& cell, bool from_wia, wia_communicator_t* comm);

  // Every page is there and holds something, whose sums stay finite.
  void poison();
  // Fresh contributions; everything else is poisoned.
  void prepare(const TestData& data);
  // The call that is measured.
  wia_status_t call() const;
  // Wrong elements of the result, changed ones of the input, written guard bytes.
  size_t count_wrong(const TestData& data) const;

 private:
  // Whether this rank's result replaces its input.
  static bool shared_at(const Cell& cell, int rank);

  const Cell& cell_;
  wia_communicator_t* const comm_;
  const int rank_, ranks_;
  const bool shared_;
  GuardedMemory first_, second_;  // shared: only the first, as large as the larger
  std::byte *send_, *recv_;
};

}  // namespace wia::cli::bench
