// Where the ranks of one `wia bench` meet, beside the calls that are measured: a barrier, a value of rank
// 0's, a sum, and the times of all.
//
// One thread a rank. Every wait ends when another rank has ended or failed (std::runtime_error).
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wia/wia.h"

namespace wia::cli::bench {

class Meeting {
 public:
  struct Stamp {
    int64_t start, end;  // CLOCK_MONOTONIC of the rank's host
  };

  // Collective over `world`: through memory that the ranks share, as in bench/compare, so that no barrier of
  // the library is part of what is timed; else, on several hosts, through a communicator of its own. For at
  // most so many stamps.
  static std::unique_ptr<Meeting> make(wia_communicator_t* world, int stamps);
  explicit Meeting(wia_communicator_t* world);
  virtual ~Meeting() = default;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  // That all ranks of a host together may use: each may be bound to one.
  double allowed_cpus() const { return allowed_cpus_; }
  // What a call's time means here, for people.
  virtual const char* timing() const = 0;
  virtual void barrier() = 0;
  // Rank 0 says, everybody gets it.
  virtual int64_t agree(int64_t value) = 0;
  std::string agree(const std::string& text);
  // The sum over all ranks.
  virtual uint64_t sum(uint64_t value) = 0;
  // How long each call took all ranks, in ns, in the order of the stamps; complete on rank 0.
  virtual std::vector<int64_t> times(std::span<const Stamp> own) = 0;
  // The others need not wait for this rank any more.
  virtual void give_up() {}

 private:
  const int rank_, ranks_;
  double allowed_cpus_ = 1;
};

// Throws std::runtime_error with the library's words.
void must(wia_status_t status);

}  // namespace wia::cli::bench
