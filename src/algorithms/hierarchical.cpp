// hierarchical: each level of the machine is a level of the algorithm, so that little crosses the slow
// links between nodes, and all ranks of a node share in carrying it (Chan, Heimlich, Purkayastha, van de
// Geijn, "Collective communication: theory, practice, and experience", 2007). Columns, with one rank of
// each node, are nodes.hpp's.
//
//   all_reduce      Inside each node, a reduce_scatter: each rank gets the node's sums of its columns.
//                   Across nodes, in each column, a reduce_scatter and an all_gather, or an all_reduce.
//                   Inside the node, an all_gather.
//   reduce_scatter  Inside the node, then across nodes in each column.
//   all_gather      Across nodes in each column; every block that arrives is shared inside the node at
//                   once.
//
// Blocks always stand at their final place, so nothing is shuffled at the end. Levels have lanes of their
// own: while one slice crosses nodes, the next is reduced inside. A rank that serves several columns goes
// through them in their order, as all others do. Pairs of ranks inside a node and across nodes are
// different ones, so both levels use the same tags.
#include "algorithms/builders.hpp"
#include "algorithms/flat.hpp"
#include "algorithms/nodes.hpp"

namespace wia {
namespace {

constexpr Lanes kInNode{0, 1}, kAcross{2, 3}, kGatherAcross{4, 5}, kGatherInNode{6, 7};

// Each rank of this node with the chunks of the columns that it serves.
template <class ChunksOf>
Blocks blocks_in_node(const Nodes& nodes, ChunksOf&& chunks_of) {
  std::vector<std::vector<uint32_t>> lists;
  for (const int rank : nodes.ranks_of(nodes.my_node())) {
    const Nodes::Range served = nodes.served_by(rank);
    auto& list = lists.emplace_back();
    for (int column = served.first; column < served.first + served.count; ++column) {
      const std::vector<uint32_t> chunks = chunks_of(column);
      list.insert(list.end(), chunks.begin(), chunks.end());
    }
  }
  return Blocks(lists);
}

// The own block of a column's server in a node, if this column carries it.
std::vector<uint32_t> block_of_server(const Nodes& nodes, int node, int column) {
  const int server = nodes.server(node, column);
  if (nodes.column_of(server) != column) return {};
  return {static_cast<uint32_t>(server)};
}

Blocks blocks_in_column(const Nodes& nodes, int column) {
  std::vector<std::vector<uint32_t>> lists;
  for (int node = 0; node < nodes.count(); ++node) lists.push_back(block_of_server(nodes, node, column));
  return Blocks(lists);
}

bool has_node_level(const Nodes& nodes) { return nodes.columns() > 1 || nodes.count() == 1; }

class AllReduce {
 public:
  // Null: recursive doubling. With it a column is one chunk, else one for each node.
  AllReduce(const Shape& shape, const Composition* across)
      : shape_(shape),
        across_(across),
        nodes_(shape),
        served_(nodes_.served_by(shape.rank)),
        width_(across ? nodes_.count() : 1),
        chunks_(nodes_.columns() * width_),
        builder_(shape, static_cast<uint32_t>(chunks_)) {}

  Result<Schedule> build() && {
    const Team team = nodes_.my_node_team();
    const Blocks blocks = blocks_in_node(nodes_, [this](int column) { return chunks_of(column); });
    const bool one_node = nodes_.count() == 1;
    Place sums = kInput;
    if (has_node_level(nodes_)) {
      Flow flow(builder_, team, Buffer::output, kInNode, 0);
      sums = one_node ? kResult : flow.partials(blocks.range_of(team.me));
      direct_reduce_scatter(flow, blocks, kInput, sums);
    }
    builder_.wait(kAcross.out, kInNode.in, builder_.position(kInNode.in));
    builder_.wait(kAcross.in, kInNode.in, builder_.position(kInNode.in));
    if (!one_node) across_ ? reduce_and_gather_across(sums) : all_reduce_across(sums);
    if (has_node_level(nodes_)) {
      Flow flow(builder_, team, Buffer::output, kGatherInNode, chunks_);
      if (one_node) flow.continue_in(kInNode.in);
      for (const int lane : {kInNode.out, kAcross.in, kGatherAcross.in}) flow.sends_after(lane);
      direct_all_gather(flow, blocks, kResult, kResult);
    }
    return std::move(builder_).finish();
  }

 private:
  static constexpr Place kInput{input(0)}, kResult{output(0)};

  std::vector<uint32_t> chunks_of(int column) const {
    std::vector<uint32_t> chunks(width_);
    for (int i = 0; i < width_; ++i) chunks[i] = static_cast<uint32_t>(column * width_ + i);
    return chunks;
  }

  void all_reduce_across(Place sums) {
    const bool in_place = shape_.in_place && sums == kInput;
    for (int column = served_.first; column < served_.first + served_.count; ++column) {
      const Team team = nodes_.column_team(column);
      Flow flow(builder_, team, Buffer::output, kAcross, 0);
      recursive_doubling_all_reduce(flow, Run{static_cast<uint32_t>(column), 1}, sums, kResult, in_place);
    }
  }

  // A server of several columns sends the server of several in another node several messages: in one stream.
  void reduce_and_gather_across(Place sums) {
    Streams streams = across_->streams(nodes_.count());
    if (streams == Streams::two && served_.count > 1) streams = Streams::one;
    const Lanes reducing = streams == Streams::one_lane ? Lanes{kAcross.in, kAcross.in} : kAcross;
    const Lanes gathering = streams == Streams::two ? kGatherAcross : reducing;
    for_each_column([&](const Team& team, const Blocks& blocks) {
      Flow flow(builder_, team, Buffer::output, reducing, 0);
      across_->reduce_scatter(flow, blocks, sums, kResult);
    });
    for_each_column([&](const Team& team, const Blocks& blocks) {
      Flow flow(builder_, team, Buffer::output, gathering, chunks_);
      if (streams == Streams::two) flow.continue_in(reducing.in);
      flow.sends_after(reducing.out);
      flow.sends_after(reducing.in);
      across_->all_gather(flow, blocks, kResult, kResult);
    });
  }

  template <class Function>
  void for_each_column(Function&& function) const {
    for (int column = served_.first; column < served_.first + served_.count; ++column) {
      std::vector<std::vector<uint32_t>> lists;
      for (const uint32_t chunk : chunks_of(column)) lists.push_back({chunk});
      function(nodes_.column_team(column), Blocks(lists));
    }
  }

  const Shape& shape_;
  const Composition* const across_;
  const Nodes nodes_;
  const Nodes::Range served_;
  const int width_, chunks_;
  Builder builder_;
};

Result<Schedule> reduce_scatter(const Shape& shape, ReduceScatter across) {
  const Nodes nodes(shape);
  Builder builder(shape);
  const Nodes::Range served = nodes.served_by(shape.rank);
  const Place result{output(0), static_cast<uint32_t>(shape.rank)};
  Place sums{input(0)};
  if (has_node_level(nodes)) {
    const Team team = nodes.my_node_team();
    const Blocks blocks = blocks_in_node(nodes, [&](int column) {
      std::vector<uint32_t> chunks;
      for (int node = 0; node < nodes.count(); ++node) {
        for (const uint32_t chunk : block_of_server(nodes, node, column)) chunks.push_back(chunk);
      }
      return chunks;
    });
    Flow flow(builder, team, Buffer::input, kInNode, 0);
    sums = nodes.count() == 1 ? result : flow.partials(blocks.range_of(team.me));
    direct_reduce_scatter(flow, blocks, Place{input(0)}, sums);
  }
  builder.wait(kAcross.out, kInNode.in, builder.position(kInNode.in));
  builder.wait(kAcross.in, kInNode.in, builder.position(kInNode.in));
  for (int i = 0; i < served.count && nodes.count() > 1; ++i) {
    const int column = served.first + i;
    const Team team = nodes.column_team(column);
    Flow flow(builder, team, Buffer::input, kAcross, 0);
    across(flow, blocks_in_column(nodes, column), sums, result);
  }
  return std::move(builder).finish();
}

// The nodes whose blocks arrive at this one across nodes, in the order of arrival: found by a rehearsal.
std::vector<int> order_of_arrival(const Nodes& nodes, AllGather across) {
  Shape rehearsal;
  rehearsal.collective = Collective::all_gather;
  rehearsal.ranks = nodes.count();
  rehearsal.rank = nodes.my_node();
  Builder builder(rehearsal);
  const Team team = whole_group(rehearsal);
  Flow flow(builder, team, Buffer::output, kAcross, 0);
  Arrivals arrivals(kAcross.in);
  flow.note(arrivals);
  across(flow, Blocks::one_each(rehearsal.ranks), Place{output(0)}, Place{output(0)});
  std::vector<int> order;
  for (const Arrivals::Arrival& arrival : arrivals.in_order())
    order.push_back(static_cast<int>(arrival.chunk));
  return order;
}

Result<Schedule> all_gather(const Shape& shape, AllGather across) {
  const Nodes nodes(shape);
  Builder builder(shape);
  const Nodes::Range served = nodes.served_by(shape.rank);
  const Place own = own_block(shape), all{output(0)};
  Arrivals arrivals(kAcross.in);
  for (int i = 0; i < served.count && nodes.count() > 1; ++i) {
    const int column = served.first + i;
    const Team team = nodes.column_team(column);
    Flow flow(builder, team, Buffer::output, kAcross, 0);
    flow.note(arrivals);
    across(flow, blocks_in_column(nodes, column), own, all);
  }
  if (!has_node_level(nodes)) return std::move(builder).finish();

  const Team team = nodes.my_node_team();
  std::vector<std::vector<uint32_t>> own_blocks;
  for (const int rank : team.ranks) own_blocks.push_back({static_cast<uint32_t>(rank)});
  Flow flow(builder, team, Buffer::output, kInNode, 0);
  if (nodes.count() == 1) {
    direct_all_gather(flow, Blocks(own_blocks), own, all);
    return std::move(builder).finish();
  }
  share_directly(flow, Blocks(own_blocks), own, all);
  const std::vector<int> order = order_of_arrival(nodes, across);
  const Blocks arriving = blocks_in_node(nodes, [&](int column) {
    std::vector<uint32_t> chunks;
    for (const int node : order) {
      for (const uint32_t chunk : block_of_server(nodes, node, column)) chunks.push_back(chunk);
    }
    return chunks;
  });
  share_directly(flow, arriving, all, all, {.complete = -1, .arrivals = &arrivals});
  return std::move(builder).finish();
}

}  // namespace

Result<Schedule> hierarchical_all_reduce(const Shape& shape) {
  return AllReduce(shape, &kHalvingDoublingPhases).build();
}
Result<Schedule> hierarchical_all_reduce_ring(const Shape& shape) {
  return AllReduce(shape, &kRingPhases).build();
}
Result<Schedule> hierarchical_all_reduce_doubling(const Shape& shape) {
  return AllReduce(shape, nullptr).build();
}
Result<Schedule> hierarchical_reduce_scatter(const Shape& shape) {
  return reduce_scatter(shape, halving_reduce_scatter);
}
Result<Schedule> hierarchical_reduce_scatter_ring(const Shape& shape) {
  return reduce_scatter(shape, ring_reduce_scatter);
}
Result<Schedule> hierarchical_all_gather(const Shape& shape) {
  return all_gather(shape, doubling_all_gather);
}
Result<Schedule> hierarchical_all_gather_ring(const Shape& shape) {
  return all_gather(shape, ring_all_gather);
}

}  // namespace wia
