// What must hold between the schedules of all ranks, whatever order they move in.
#pragma once
#include <span>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace wia {

// All ranks divide buffers alike. Every send has its receive: same tag, same number of chunks, same format of
// elements. What a reduction sends on from the output arrives in the same chunk of the peer's output: then it
// may also be written there at once (Endpoint::landing). The text names both ranks and steps.
Status check_match(std::span<const Schedule> schedules);

// Equal for equal schedules on all ranks, and in practice for no others.
uint64_t fingerprint(std::span<const Schedule> schedules);

}  // namespace wia
