// How the ranks of a group are spread over nodes, and columns: teams with one rank of each node.
//
// There are as many columns as the largest node has ranks. Every column has one server in each node. In a
// node with fewer ranks a rank serves several columns, always consecutive ones. So every rank works, nodes
// may differ in size, and the traffic between nodes is spread over all ranks of a node.
#pragma once
#include <span>

#include "algorithms/phase.hpp"

namespace wia {

class Nodes {
 public:
  explicit Nodes(const Shape& shape);

  int count() const { return static_cast<int>(begin_.size()) - 1; }
  int columns() const { return columns_; }
  int my_node() const { return node_of(rank_); }
  int node_of(int rank) const { return place_[rank].node; }
  std::span<const int> ranks_of(int node) const {
    return std::span(ranks_).subspan(begin_[node], begin_[node + 1] - begin_[node]);
  }
  // Rank that serves a column in a node.
  int server(int node, int column) const;
  // Columns that a rank serves: first .. first + count - 1.
  struct Range {
    int first, count;
  };
  Range served_by(int rank) const;
  // The column that carries a rank's own block: the first one it serves.
  int column_of(int rank) const { return served_by(rank).first; }
  bool one_rank_each() const { return columns_ == 1; }

  Team my_node_team() const;
  // The servers of a column, node by node; `me` is this rank's node.
  Team column_team(int column) const;

 private:
  struct RankPlace {
    int node, index;
  };
  int rank_;
  int columns_ = 0;
  std::vector<RankPlace> place_;
  std::vector<int> ranks_, begin_;  // node by node, in the order of ranks
};

}  // namespace wia
