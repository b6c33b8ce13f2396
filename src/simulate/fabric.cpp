#include "simulate/fabric.hpp"

#include <algorithm>

namespace wia {

Fabric::Fabric(const MachineModel& model, int ranks)
    : ranks_per_node_(model.ranks_per_node),
      // A rank that stripes over several NICs has them as one port.
      ports_per_node_(std::max(1, std::min(model.nics_per_node, model.ranks_per_node))),
      nodes_per_group_(model.nodes_per_group),
      nic_is_private_(model.nics_per_node >= model.ranks_per_node) {
  node_alpha_ = model.node.alpha_us.value.value_or(0);
  node_rate_ = us_per_byte(model.node.bandwidth_GBps);
  total_rate_ = us_per_byte(model.node_total_GBps);
  network_alpha_ = model.network.alpha_us.value.value_or(0);
  nic_rate_ = us_per_byte(model.network.bandwidth_GBps) * ports_per_node_ / std::max(1, model.nics_per_node);
  group_rate_ = us_per_byte(model.group_GBps);

  ranks_ = static_cast<size_t>(ranks);
  const size_t nodes = static_cast<size_t>(node_of(ranks - 1)) + 1;
  nics_out_ = 2 * ranks_;
  nics_in_ = nics_out_ + nodes * static_cast<size_t>(ports_per_node_);
  totals_ = nics_in_ + nodes * static_cast<size_t>(ports_per_node_);
  groups_out_ = totals_ + nodes;
  groups_in_ = groups_out_ + nodes;  // at most as many groups as nodes
  ports_.resize(groups_in_ + nodes);
}

size_t Fabric::nic_of(int rank) const {
  const int in_node = rank % ranks_per_node_;
  return static_cast<size_t>(node_of(rank) * ports_per_node_ + in_node * ports_per_node_ / ranks_per_node_);
}

Fabric::Hop Fabric::hop_inside(const SimulatedTransfer& transfer) const {
  const auto from = static_cast<size_t>(transfer.from), to = static_cast<size_t>(transfer.to);
  if (transfer.hop == 0) return {from, node_rate_, Cost::links, false};
  if (transfer.hop == 1 && total_rate_ > 0)
    return {totals_ + static_cast<size_t>(node_of(transfer.from)), total_rate_, Cost::links, false};
  return {ranks_ + to, node_rate_, Cost::links, true};
}

Fabric::Hop Fabric::hop_between(const SimulatedTransfer& transfer) const {
  const bool grouped = nodes_per_group_ > 0 && group_rate_ > 0;
  const int from = grouped ? node_of(transfer.from) / nodes_per_group_ : 0,
            to = grouped ? node_of(transfer.to) / nodes_per_group_ : 0;
  if (transfer.hop == 0) return {nics_out_ + nic_of(transfer.from), nic_rate_, Cost::nic, false};
  if (transfer.hop == 1 && from != to)
    return {groups_out_ + static_cast<size_t>(from), group_rate_, Cost::links, false};
  if (transfer.hop == 2 && from != to)
    return {groups_in_ + static_cast<size_t>(to), group_rate_, Cost::links, false};
  return {nics_in_ + nic_of(transfer.to), nic_rate_, Cost::nic, true};
}

Fabric::Hop Fabric::hop_of(const SimulatedTransfer& transfer) const {
  return node_of(transfer.from) == node_of(transfer.to) ? hop_inside(transfer) : hop_between(transfer);
}

bool Fabric::proceed(SimulatedTransfer& transfer) {
  const Hop hop = hop_of(transfer);
  Port& port = ports_[hop.port];
  // Behind a rank's own messages a message waits because the port is slow, behind others' because it is
  // shared.
  const int user = hop.last ? transfer.to : transfer.from;
  if (port.free_us > transfer.moment.us)
    transfer.moment.add(port.user == user ? hop.cost : Cost::waiting, port.free_us - transfer.moment.us);
  const double end = transfer.moment.us + static_cast<double>(transfer.bytes) * hop.us_per_byte;
  port = {end, user};
  if (end > transfer.last_byte_us) {
    transfer.last_byte_us = end;
    transfer.slowest = hop.cost;
  }
  ++transfer.hop;
  if (!hop.last) return false;
  const bool inside = node_of(transfer.from) == node_of(transfer.to);
  transfer.moment.add(transfer.slowest, transfer.last_byte_us - transfer.moment.us);
  transfer.moment.add(Cost::latency, inside ? node_alpha_ : network_alpha_);
  return true;
}

}  // namespace wia
