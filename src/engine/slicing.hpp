// How a call's data is cut: into the chunks that its schedule speaks of, and these into slices, so that ranks
// work at the same time: one copies in what another copies out. Pure.
#pragma once
#include "engine/binding.hpp"
#include "schedule/schedule.hpp"

namespace wia {

// Sets the extents for blocks of equal length; raw_bytes stands. `count`: elements, as the call takes it.
void set_even_chunks(Collective collective, uint64_t count, int ranks, const Schedule& schedule,
                     Binding* binding);

struct SliceLimits {
  int ranks = 1;
  size_t slice_bytes = 0;    // of a chunk, at most
  size_t staging_bytes = 0;  // of a rank
};

// Sets slice_elements, slices and window; the rest of the binding stands. `marks_ends` of the binding: the
// ends of a message may differ on its length, so that it cannot depend on it. The length of a slice is the
// same on all ranks, for it depends on nothing that only this rank knows; the window is this rank's own
// affair.
void set_slices(const Schedule& schedule, const SliceLimits& limits, Binding* binding);

}  // namespace wia
