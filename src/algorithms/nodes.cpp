#include "algorithms/nodes.hpp"

#include <algorithm>
#include <numeric>

namespace wia {

Nodes::Nodes(const Shape& shape) : rank_(shape.rank), place_(shape.ranks), ranks_(shape.ranks) {
  std::vector<int> node = shape.node;
  node.resize(shape.ranks, 0);
  const int nodes = 1 + *std::max_element(node.begin(), node.end());
  begin_.resize(nodes + 1, 0);
  for (int n : node) ++begin_[n + 1];
  columns_ = *std::max_element(begin_.begin(), begin_.end());
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<int> filled(nodes, 0);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    place_[rank] = {node[rank], filled[node[rank]]++};
    ranks_[begin_[node[rank]] + place_[rank].index] = rank;
  }
}

int Nodes::server(int node, int column) const {
  const auto ranks = ranks_of(node);
  return ranks[int64_t{column} * static_cast<int64_t>(ranks.size()) / columns_];
}

Nodes::Range Nodes::served_by(int rank) const {
  const RankPlace place = place_[rank];
  const auto size = static_cast<int64_t>(ranks_of(place.node).size());
  const auto first_of = [&](int64_t index) { return static_cast<int>((index * columns_ + size - 1) / size); };
  const int first = first_of(place.index);
  return {first, first_of(place.index + 1) - first};
}

Team Nodes::my_node_team() const {
  const auto ranks = ranks_of(my_node());
  return {{ranks.begin(), ranks.end()}, place_[rank_].index};
}

Team Nodes::column_team(int column) const {
  Team team;
  for (int node = 0; node < count(); ++node) team.ranks.push_back(server(node, column));
  team.me = my_node();
  return team;
}

}  // namespace wia
