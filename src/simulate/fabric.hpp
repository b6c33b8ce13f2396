// The ports and links of a machine under simulated time: who may send how much when.
//
// A message goes from port to port of its way: inside a node out of the rank's port, through the node, into
// the other rank's port; between nodes out of a NIC, out of the group and into the other where they differ,
// into a NIC. A port serves messages whole and in the order in which they ask, and is busy with b bytes for b
// / bandwidth. A message asks for the next port as soon as the one before begins to send (cut-through), and
// has arrived alpha after its last byte. There is room for all that waits inside the network.
//
// So that ports are granted in the order of time, whoever drives this calls proceed() in the order of time.
// Not thread safe.
#pragma once
#include <optional>
#include <vector>

#include "simulate/machine_model.hpp"
#include "simulate/moment.hpp"

namespace wia {

// A message on its way.
struct SimulatedTransfer {
  int from = 0, to = 0;  // ranks
  size_t bytes = 0;
  Moment moment;               // when it asks for the next port; in the end, when it has arrived
  double last_byte_us = 0;     // when the ports so far have let its last byte go
  Cost slowest = Cost::links;  // what decided that
  int hop = 0;
};

class Fabric {
 public:
  // Ranks fill one node after the other.
  Fabric(const MachineModel& model, int ranks);

  int node_of(int rank) const { return rank / ranks_per_node_; }
  // Whether nobody but its sender asks for a transfer's first port: then it may be granted ahead of time.
  bool first_is_private(const SimulatedTransfer& transfer) const {
    return node_of(transfer.from) == node_of(transfer.to) || nic_is_private_;
  }
  // Grants one port. Whether the transfer has arrived; else it asks for the next port at its moment.
  bool proceed(SimulatedTransfer& transfer);

 private:
  struct Port {
    double free_us = 0;  // from then on
    int user = -1;       // the rank it served last
  };
  struct Hop {
    size_t port;
    double us_per_byte;
    Cost cost;
    bool last;
  };
  Hop hop_of(const SimulatedTransfer& transfer) const;
  Hop hop_inside(const SimulatedTransfer& transfer) const;
  Hop hop_between(const SimulatedTransfer& transfer) const;
  size_t nic_of(int rank) const;

  const int ranks_per_node_, ports_per_node_, nodes_per_group_;
  bool nic_is_private_;
  double node_alpha_ = 0, node_rate_ = 0, total_rate_ = 0;  // us; us a byte, 0: no limit
  double network_alpha_ = 0, nic_rate_ = 0, group_rate_ = 0;
  // Ranks out, ranks in, NICs out, NICs in, nodes, groups out, groups in.
  std::vector<Port> ports_;
  size_t ranks_, nics_out_, nics_in_, totals_, groups_out_, groups_in_;
};

// Us a byte; 0 where no limit is known.
inline double us_per_byte(const Figure& bandwidth_GBps) {
  return bandwidth_GBps.value ? 1e-3 / *bandwidth_GBps.value : 0;
}

}  // namespace wia
