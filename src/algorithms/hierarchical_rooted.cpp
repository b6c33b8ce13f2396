// hierarchical, for the collectives with a root, and the barrier. The data has one chunk for each column
// (nodes.hpp).
//
//   broadcast  The root scatters its data over the ranks of its node; each column has a broadcast across
//              nodes; inside each node, an all_gather.
//   reduce     The same backwards: a reduce_scatter inside each node, a reduce in each column to the root's
//              node, whose ranks send the sums to the root.
//   barrier    Ranks report to the first of their node; those run a barrier; then they release the others.
#include "algorithms/builders.hpp"
#include "algorithms/nodes.hpp"
#include "algorithms/phases.hpp"

namespace wia {
namespace {

constexpr Lanes kFirst{0, 1}, kAcross{2, 3}, kLast{4, 5};

// Each rank of a node with the columns it serves.
Blocks columns_of(const Nodes& nodes, int node) {
  std::vector<std::vector<uint32_t>> lists;
  for (const int rank : nodes.ranks_of(node)) {
    const Nodes::Range served = nodes.served_by(rank);
    auto& list = lists.emplace_back();
    for (int i = 0; i < served.count; ++i) list.push_back(static_cast<uint32_t>(served.first + i));
  }
  return Blocks(lists);
}

// What runs across nodes.
struct RootedPhases {
  void (*broadcast)(Flow& flow, int root, Run run, Place from, Place to);
  void (*reduce)(Flow& flow, int root, uint32_t chunk, Place own, Place result);
};

void tree_broadcast(Flow& flow, int root, Run run, Place from, Place to) {
  knomial_broadcast(flow, root, 2, run, from, to);
}
void tree_reduce(Flow& flow, int root, uint32_t chunk, Place own, Place result) {
  knomial_reduce(flow, root, 2, chunk, own, result);
}

constexpr RootedPhases kTrees{tree_broadcast, tree_reduce}, kChains{chain_broadcast, chain_reduce};

int index_of_root(const Shape& shape, const Team& node_team) {
  for (int i = 0; i < node_team.size(); ++i) {
    if (node_team.ranks[i] == shape.root) return i;
  }
  return -1;  // in another node
}

Result<Schedule> broadcast(const Shape& shape, const RootedPhases& across) {
  const Nodes nodes(shape);
  const Team team = nodes.my_node_team();
  const Blocks blocks = columns_of(nodes, nodes.my_node());
  const Nodes::Range served = nodes.served_by(shape.rank);
  const int root = index_of_root(shape, team), root_node = nodes.node_of(shape.root);
  const int columns = nodes.columns();
  const Place data{output(0)};  // on the root it is the input
  Builder builder(shape, static_cast<uint32_t>(columns));

  Flow scattering(builder, team, Buffer::output, kFirst, 0);
  for (int member = 0; member < team.size() && root >= 0; ++member) {
    if (member == root) continue;
    for (const Run run : blocks.of(member)) {
      if (team.me == root) scattering.send(member, run, data);
      if (team.me == member) scattering.recv(root, run, data);
    }
  }
  Flow sharing(builder, team, Buffer::output, kLast, columns);
  sharing.sends_after(kFirst.in);
  builder.wait(kAcross.in, kFirst.in, builder.position(kFirst.in));
  for (int i = 0; i < served.count && nodes.count() > 1; ++i) {
    const int column = served.first + i;
    const Team column_team = nodes.column_team(column);
    Flow flow(builder, column_team, Buffer::output, kAcross, 0);
    across.broadcast(flow, root_node, Run{static_cast<uint32_t>(column), 1}, data, data);
  }
  if (root < 0) sharing.sends_after(kAcross.in);
  share_directly(sharing, blocks, data, data, {.complete = root, .arrivals = nullptr});
  return std::move(builder).finish();
}

Result<Schedule> reduce(const Shape& shape, const RootedPhases& across) {
  const Nodes nodes(shape);
  const Team team = nodes.my_node_team();
  const Blocks blocks = columns_of(nodes, nodes.my_node());
  const Nodes::Range served = nodes.served_by(shape.rank);
  const int root = index_of_root(shape, team), root_node = nodes.node_of(shape.root);
  const int columns = nodes.columns();
  Builder builder(shape, static_cast<uint32_t>(columns));
  Flow in_node(builder, team, Buffer::input, kFirst, 0);

  // Results are made by the ranks of the root's node.
  Place result{output(0)};
  if (!shape.is_root() && root >= 0) {
    const auto count = static_cast<uint32_t>(served.count);
    result = {scratch(builder.allocate_scratch(count)), static_cast<uint32_t>(served.first)};
  }
  Place sums{input(0)};
  if (columns > 1 || nodes.count() == 1) {
    sums = nodes.count() == 1 ? result : in_node.partials(blocks.range_of(team.me));
    direct_reduce_scatter(in_node, blocks, Place{input(0)}, sums);
  }
  builder.wait(kAcross.in, kFirst.in, builder.position(kFirst.in));
  for (int i = 0; i < served.count && nodes.count() > 1; ++i) {
    const int column = served.first + i;
    const Team column_team = nodes.column_team(column);
    Flow flow(builder, column_team, Buffer::input, kAcross, 0);
    across.reduce(flow, root_node, static_cast<uint32_t>(column), sums, result);
  }
  Flow gathering(builder, team, Buffer::input, kLast, columns);
  gathering.sends_after(kFirst.out);
  gathering.sends_after(kFirst.in);
  gathering.sends_after(kAcross.in);
  for (int member = 0; member < team.size() && root >= 0; ++member) {
    if (member == root) continue;
    for (const Run run : blocks.of(member)) {
      if (team.me == member) gathering.send(root, run, result);
      if (team.me == root) gathering.recv(member, run, result);
    }
  }
  return std::move(builder).finish();
}

}  // namespace

Result<Schedule> hierarchical_broadcast(const Shape& shape) { return broadcast(shape, kTrees); }
Result<Schedule> hierarchical_broadcast_chain(const Shape& shape) { return broadcast(shape, kChains); }
Result<Schedule> hierarchical_reduce(const Shape& shape) { return reduce(shape, kTrees); }
Result<Schedule> hierarchical_reduce_chain(const Shape& shape) { return reduce(shape, kChains); }

Result<Schedule> hierarchical_barrier(const Shape& shape) {
  constexpr int kLane = 0, kCome = 0, kGo = 1;  // tags
  const Nodes nodes(shape);
  const Team team = nodes.my_node_team();
  Builder builder(shape);
  const int leader = team.ranks[0];
  if (shape.rank != leader) {
    builder.send(kLane, leader, Ref(), kCome, 0);
    builder.recv(kLane, leader, Ref(), kGo, 0);
    return std::move(builder).finish();
  }
  for (int i = 1; i < team.size(); ++i) builder.recv(kLane, team.ranks[i], Ref(), kCome, 0);
  dissemination_barrier(builder, nodes.column_team(0), kLane, 0);
  for (int i = 1; i < team.size(); ++i) builder.send(kLane, team.ranks[i], Ref(), kGo, 0);
  return std::move(builder).finish();
}

}  // namespace wia
