// What a machine's messages and computing cost: alpha, beta and gamma of the cost model. A value; a tuning
// file holds what was measured.
#pragma once
#include <optional>

#include "topology/topology.hpp"

namespace wia {

// A way between two ranks.
struct WayCost {
  double alpha_us = 0;                                           // a message without its bytes
  double bandwidth_GBps = 1;                                     // 1 / beta
  double bandwidth_us() const { return 1e-3 / bandwidth_GBps; }  // a byte
  bool operator==(const WayCost&) const = default;
};

struct MachineCosts {
  WayCost node;                    // between ranks of a node
  std::optional<WayCost> network;  // between nodes; of one pair of ranks with all NICs that it uses
  double node_network_GBps = 0;    // all ranks of a node together; 0: no limit of its own
  double reduce_GBps = 10;         // 1 / gamma: sum of two buffers, of the result
  double message_us = 0.1;         // that a rank is busy with a message, whatever its length
  bool operator==(const MachineCosts&) const = default;
};

// Where nothing was measured: those of a host of today, and of one NIC of 100 Gbit/s a node.
MachineCosts default_costs();
// From the links that were measured, medians of each kind; `reduce_GBps` measured beside. Nothing: no two
// ranks of a node, or of two nodes, were measured.
std::optional<MachineCosts> costs_from(const Topology& topology, double reduce_GBps);

}  // namespace wia
