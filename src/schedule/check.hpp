// Structural checks of one rank's schedule: what can be seen without its peers.
#pragma once
#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace wia {

struct BufferChunks {
  uint32_t input, output;
};
// The table in collective.hpp, for the ranks that have the buffers.
BufferChunks nominal_chunks(Collective collective, uint32_t ranks, uint32_t split);

// Every step names memory that this rank has, peers of the group and chunks of known length; messages of
// a pair have different tags; the lanes of the rank do not wait for one another in a circle.
Status check_schedule(const Shape& shape, const Schedule& schedule);

}  // namespace wia
