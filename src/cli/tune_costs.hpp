// What messages and sums cost on the ranks of this job, measured: alpha, beta and gamma of the cost model.
#pragma once
#include <optional>
#include <vector>

#include "dispatch/costs.hpp"
#include "topology/topology.hpp"
#include "wia/wia.h"

namespace wia::cli {

struct JobCosts {
  std::vector<int> nodes;             // by rank; empty: not known
  int nics = 0;                       // that a node uses, the fewest of any
  std::optional<MachineCosts> costs;  // nothing: too many ranks
};

// Collective: within about so many seconds. Throws std::runtime_error.
JobCosts measure_costs(wia_communicator_t* world, double seconds);

// By rank: its node, of so many; empty: the topology does not tell.
std::vector<int> nodes_of(const Topology& topology, int num_nodes, int ranks_per_node);

}  // namespace wia::cli
