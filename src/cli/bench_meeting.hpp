// Memory that the ranks of one `wia bench` share, beside the library that is measured: a barrier and the time
// stamps. As in bench/compare, so that no barrier of the library is part of what is timed.
//
// One thread a rank. Every wait ends when another rank has ended or failed (std::runtime_error).
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/file_descriptor.hpp"
#include "wia/wia.h"

namespace wia::cli::bench {

class Meeting {
 public:
  struct Stamp {
    int64_t start, end;  // CLOCK_MONOTONIC, which the processes of a host share
  };

  // Collective over `world`, whose ranks must be on one host. Room for so many stamps a rank.
  Meeting(wia_communicator_t* world, int stamps);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  // That all ranks together may use: each may be bound to one.
  double allowed_cpus() const { return allowed_cpus_; }
  void barrier();
  Stamp* stamps(int rank) const;
  // Rank 0 says, everybody gets it.
  int64_t agree(int64_t value);
  // The sum over all ranks.
  uint64_t sum(uint64_t value);
  // The others need not wait for this rank any more.
  void give_up() { shared_->failed.store(1); }

 private:
  struct Shared {
    uint64_t nonce;
    alignas(128) std::atomic<uint32_t> arrived;
    alignas(128) std::atomic<uint32_t> phase;
    alignas(128) std::atomic<uint32_t> failed;
    std::atomic<int64_t> value;
    std::atomic<uint64_t> sum;
  };

  void create();
  bool somebody_is_gone() const;

  const int rank_, ranks_;
  const size_t stamps_, bytes_;
  double allowed_cpus_ = 1;
  bool spins_ = false;  // every rank can have a CPU
  FileDescriptor file_;
  std::vector<FileDescriptor> processes_;  // of the other ranks
  Shared* shared_ = nullptr;
};

}  // namespace wia::cli::bench
