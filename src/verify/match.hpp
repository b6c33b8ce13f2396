// What must hold between the schedules of all ranks, whatever order they move in.
#pragma once
#include <span>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace wia {

// Every stride-th rank, `first` among them.
struct MatchSample {
  int first = 0, stride = 1;
  bool has(int rank) const { return (rank - first) % stride == 0; }
};

// All ranks divide buffers alike. Every send has its receive: same tag, same number of chunks, same format of
// elements. What a reduction sends on from the output arrives in the same chunk of the peer's output: then it
// may also be written there at once (Endpoint::landing). The text names both ranks. Only messages to the
// `sample` are looked at.
Status check_match(std::span<const Schedule> schedules, MatchSample sample = {});

// Equal for equal schedules on all ranks, and in practice for no others.
uint64_t fingerprint(std::span<const Schedule> schedules);

}  // namespace wia
