// A machine model as a SimGrid platform: nodes are the leaves of a dragonfly.
//
//   node      a zone with a host for each rank and a router, its gateway. Two ranks of a node are joined by
//   the
//             sender's port, all that the node carries together where the model says so, and the receiver's
//             port; a rank and the router by a NIC. Each way has its own link and half of the latency at each
//             end.
//   fabric    ideal: whatever the nodes inject arrives, as in most machine models.
//             minimal: 4 nodes a router, the routers of a group joined each to each by one link that is as
//             fast as all NICs of a node, groups alike; SimGrid takes the shortest way, always. Real
//             dragonflies have more links and go around full ones: the two enclose them.
//
// Nothing of src/simulate is used but the figures. Not thread safe: SimGrid has one engine a process.
#pragma once
#include <simgrid/s4u.hpp>
#include <vector>

#include "simulate/machine_model.hpp"

namespace wia {

enum class Fabric { ideal, minimal };

// Sharing of links by what flows through them, no model of TCP: no slow start, no window, no
// acknowledgements, no bandwidth lost to headers, since the figures of a machine model hold all of that
// already. To be called once, before the platform is built.
void configure_simgrid();

// The host of each rank. A host works off bytes at 1e9 "flops" a second: one is a nanosecond of work.
std::vector<simgrid::s4u::Host*> build_platform(const MachineModel& machine, int ranks, Fabric fabric);

}  // namespace wia
