// One link between two ranks, measured: the source calls measure_link, the target answer_link meanwhile.
#pragma once
#include <cstdint>
#include <vector>

#include "communicator/communicator.hpp"
#include "topology/topology.hpp"

namespace wia {

struct LinkLimits {
  uint64_t largest_bytes;
  int64_t budget_ms;
};

// To `target`, which may be this rank. `nics`: those whose counters are looked at.
Result<Link> measure_link(Communicator& communicator, int target, const std::vector<Nic>& nics,
                          const LinkLimits& limits);
Status answer_link(Communicator& communicator, int source);

}  // namespace wia
