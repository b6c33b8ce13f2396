#include "cli/bench_meeting.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/machine.hpp"
#include "cli/bench_meeting_shared.hpp"

namespace wia::cli::bench {
namespace {

double cpus_of_all_ranks(wia_communicator_t* world) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  must(wia_all_reduce(&set, &set, sizeof set, WIA_UINT8, WIA_OP_BOR, world, nullptr));
  return std::min<double>(CPU_COUNT(&set), quota_cpus());
}

// Ranks on several hosts: their clocks differ, so a call takes as long as it took the rank that it took
// longest.
class NetworkMeeting final : public Meeting {
 public:
  explicit NetworkMeeting(wia_communicator_t* world) : Meeting(world) {
    must(wia_communicator_duplicate(world, &own_));
  }
  ~NetworkMeeting() override { wia_communicator_destroy(own_); }
  const char* timing() const override {
    return "each call after a barrier that is not counted, by each rank's own CLOCK_MONOTONIC, the longest "
           "over ranks";
  }
  void barrier() override { must(wia_barrier_async(own_, nullptr)); }
  using Meeting::agree;
  int64_t agree(int64_t value) override {
    must(wia_broadcast_buffer(&value, 1, WIA_INT64, 0, own_, nullptr));
    return value;
  }
  uint64_t sum(uint64_t value) override {
    must(wia_all_reduce(&value, &value, 1, WIA_UINT64, WIA_OP_SUM, own_, nullptr));
    return value;
  }
  std::vector<int64_t> times(std::span<const Stamp> own) override {
    std::vector<int64_t> longest;
    for (const Stamp& stamp : own) longest.push_back(stamp.end - stamp.start);
    must(
        wia_all_reduce(longest.data(), longest.data(), longest.size(), WIA_INT64, WIA_OP_MAX, own_, nullptr));
    return longest;
  }
  void give_up() override { wia_communicator_abort(own_); }

 private:
  wia_communicator_t* own_ = nullptr;
};

}  // namespace

void must(wia_status_t status) {
  if (status != WIA_SUCCESS) throw std::runtime_error(wia_last_error_message());
}

Meeting::Meeting(wia_communicator_t* world)
    : rank_(wia_rank(world)), ranks_(wia_size(world)), allowed_cpus_(cpus_of_all_ranks(world)) {}

std::string Meeting::agree(const std::string& text) {
  std::string agreed(static_cast<size_t>(agree(static_cast<int64_t>(text.size()))), '\0');
  for (size_t at = 0; at < agreed.size(); at += sizeof(int64_t)) {
    int64_t piece = 0;
    const size_t bytes = std::min(agreed.size() - at, sizeof piece);
    if (rank_ == 0) std::memcpy(&piece, text.data() + at, bytes);
    piece = agree(piece);
    std::memcpy(agreed.data() + at, &piece, bytes);
  }
  return agreed;
}

std::unique_ptr<Meeting> Meeting::make(wia_communicator_t* world, int stamps) {
  if (auto shared = SharedMeeting::make(world, stamps)) return shared;
  return std::make_unique<NetworkMeeting>(world);
}

}  // namespace wia::cli::bench
