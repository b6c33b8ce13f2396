// hierarchical, all_to_all: few large messages between nodes instead of many small ones.
//
//   1. Inside the node, each rank gives a block that goes to another node to the local server of the column
//      that its destination is in (nodes.hpp). Blocks inside the node go straight to their destination.
//   2. Across nodes, a server sends each destination in its column the blocks from its whole node, in one
//      message if the node's ranks are consecutive. They arrive at their final places.
//
// Servers do not know the lengths of the blocks that pass through them, so these must be equal. In place,
// all that is sent leaves from a copy, because what arrives overwrites it.
#include <algorithm>
#include <optional>

#include "algorithms/builders.hpp"
#include "algorithms/nodes.hpp"

namespace wia {
namespace {

constexpr Lanes kInNode{0, 1}, kAcross{2, 3};

class AllToAll {
 public:
  explicit AllToAll(const Shape& shape)
      : rank_(shape.rank), ranks_(shape.ranks), nodes_(shape), team_(nodes_.my_node_team()), builder_(shape) {
    if (shape.in_place) {
      const auto all = static_cast<uint32_t>(ranks_);
      source_ = scratch(builder_.allocate_scratch(all));
      builder_.copy(kInNode.out, *source_, input(0), all, input(0));
      builder_.wait(kInNode.in, kInNode.out, 1);
    } else {
      builder_.copy(kInNode.in, output(chunk(rank_)), input(chunk(rank_)), 1, input(chunk(rank_)));
    }
    for (int node = 0; node < nodes_.count(); ++node) {
      if (node == nodes_.my_node()) continue;
      for (const int rank : nodes_.ranks_of(node)) passing_through(rank).push_back(rank);
    }
  }

  Result<Schedule> build() && {
    relay_in_node();
    exchange_in_node();
    builder_.wait(kAcross.out, kInNode.in, relayed_);
    send_across();
    if (source_) builder_.wait(kAcross.in, kInNode.out, 1);
    receive_across();
    return std::move(builder_).finish();
  }

 private:
  static uint32_t chunk(int rank) { return static_cast<uint32_t>(rank); }
  Ref mine(int destination) const {
    return source_ ? source_->plus(chunk(destination)) : input(chunk(destination));
  }
  int index_in_node(int steps) const {
    const int n = team_.size();
    return (team_.me + steps + n) % n;
  }

  // Destinations in other nodes whose blocks pass through the local server of their column.
  std::vector<int>& passing_through(int destination) {
    if (passing_.empty()) passing_.resize(team_.size());
    const int server = nodes_.server(nodes_.my_node(), nodes_.column_of(destination));
    const auto& ranks = team_.ranks;
    return passing_[std::lower_bound(ranks.begin(), ranks.end(), server) - ranks.begin()];
  }

  // Blocks that pass through this rank stand in scratch by destination, then by source. Tags are
  // destinations.
  void relay_in_node() {
    if (passing_.empty()) return;
    const auto sources = static_cast<uint32_t>(team_.size());
    const auto& here = passing_[team_.me];
    area_ = builder_.allocate_scratch(static_cast<uint32_t>(here.size()) * sources);
    size_t most = 0;
    for (const auto& destinations : passing_) most = std::max(most, destinations.size());
    for (size_t i = 0; i < most; ++i) {
      const Ref row = scratch(area_ + static_cast<uint32_t>(i) * sources);
      if (i < here.size()) {
        builder_.copy(kInNode.in, row.plus(chunk(team_.me)), mine(here[i]), 1, output(0));
      }
      for (int round = 1; round < team_.size(); ++round) {
        const int to = index_in_node(round), from = index_in_node(-round);
        if (i < passing_[to].size()) {
          const int destination = passing_[to][i];
          builder_.send(kInNode.out, team_.ranks[to], mine(destination), destination, 1, output(0));
        }
        if (i < here.size()) {
          builder_.recv(kInNode.in, team_.ranks[from], row.plus(chunk(from)), here[i], 1, output(0));
        }
      }
    }
    relayed_ = builder_.position(kInNode.in);
  }

  void exchange_in_node() {
    for (int round = 1; round < team_.size(); ++round) {
      const int to = team_.ranks[index_in_node(round)], from = team_.ranks[index_in_node(-round)];
      builder_.send(kInNode.out, to, mine(to), to, 1, output(0));
      builder_.recv(kInNode.in, from, output(chunk(from)), rank_, 1);
    }
  }

  // Round s of node k: to the node s behind it, from the one s before it. Tags are sources.
  void send_across() {
    const auto sources = static_cast<uint32_t>(team_.size());
    for (int round = 1; round < nodes_.count(); ++round) {
      const int node = (nodes_.my_node() + round) % nodes_.count();
      const auto& here = passing_[team_.me];
      for (size_t i = 0; i < here.size(); ++i) {
        if (nodes_.node_of(here[i]) != node) continue;
        Ref from = scratch(area_ + static_cast<uint32_t>(i) * sources);
        for (const Run run : rows_of(nodes_.my_node())) {
          builder_.send(kAcross.out, here[i], from, static_cast<int>(run.first), run.count,
                        output(run.first));
          from = from.plus(run.count);
        }
      }
    }
  }

  void receive_across() {
    for (int round = 1; round < nodes_.count(); ++round) {
      const int node = (nodes_.my_node() + nodes_.count() - round) % nodes_.count();
      const int from = nodes_.server(node, nodes_.column_of(rank_));
      for (const Run run : rows_of(node)) {
        builder_.recv(kAcross.in, from, output(run.first), static_cast<int>(run.first), run.count);
      }
    }
  }

  std::vector<Run> rows_of(int node) const {
    std::vector<uint32_t> chunks;
    for (const int rank : nodes_.ranks_of(node)) chunks.push_back(chunk(rank));
    return runs_of(chunks);
  }

  const int rank_, ranks_;
  const Nodes nodes_;
  const Team team_;
  Builder builder_;
  std::optional<Ref> source_;              // the copy to send from; none: the input
  std::vector<std::vector<int>> passing_;  // by index in the node
  uint32_t area_ = 0, relayed_ = 0;
};

}  // namespace

Result<Schedule> hierarchical_all_to_all(const Shape& shape) {
  if (!shape.even) {
    return Status(Code::unsupported,
                  "hierarchical all_to_all needs blocks of equal length; use direct or pairwise");
  }
  return AllToAll(shape).build();
}

}  // namespace wia
