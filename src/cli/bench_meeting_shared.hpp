// The meeting of ranks that share memory: a barrier and time stamps in it, nothing of the library.
#pragma once
#include <atomic>

#include "base/file_descriptor.hpp"
#include "cli/bench_meeting.hpp"

namespace wia::cli::bench {

class SharedMeeting final : public Meeting {
 public:
  // Null, on all ranks: they are not on one host.
  static std::unique_ptr<Meeting> make(wia_communicator_t* world, int stamps);
  ~SharedMeeting() override;

  const char* timing() const override {
    return "each call after a barrier that is not counted, from the first rank's start to the last rank's "
           "end, "
           "CLOCK_MONOTONIC";
  }
  void barrier() override;
  using Meeting::agree;
  int64_t agree(int64_t value) override;
  uint64_t sum(uint64_t value) override;
  std::vector<int64_t> times(std::span<const Stamp> own) override;
  void give_up() override { shared_->failed.store(1); }

 private:
  struct Shared {
    uint64_t nonce;
    alignas(128) std::atomic<uint32_t> arrived;
    alignas(128) std::atomic<uint32_t> phase;
    alignas(128) std::atomic<uint32_t> failed;
    std::atomic<int64_t> value;
    std::atomic<uint64_t> sum;
  };

  SharedMeeting(wia_communicator_t* world, int stamps);
  void create();
  Stamp* stamps(int rank) const;
  bool somebody_is_gone() const;

  const size_t stamps_, bytes_;
  const bool spins_;  // every rank can have a CPU
  bool good_ = false;
  FileDescriptor file_;
  std::vector<FileDescriptor> processes_;  // of the other ranks
  Shared* shared_ = nullptr;
};

}  // namespace wia::cli::bench
