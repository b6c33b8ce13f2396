// double_tree: two binary trees over all ranks, each for half of the data (Sanders, Speck, Träff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", 2009).
//
// In a binary tree half of the ranks are leaves, which never send on. The second tree makes inner ranks of
// them, so that all links are used, in log2 n hops. Sums go up to the root of a tree, results down.
// For broadcast and reduce, the trees span the other ranks, and the root talks to the roots of both.
#include "algorithms/builders.hpp"
#include "algorithms/peers.hpp"

namespace wia {
namespace {

constexpr int kTrees = 2;
// Tags. A pair of ranks may be neighbours in both trees.
constexpr int up_tag(uint32_t tree) { return static_cast<int>(tree); }
constexpr int down_tag(uint32_t tree) { return kTrees + static_cast<int>(tree); }

// A rank's place in one tree, in terms of ranks.
struct Branch {
  int parent;  // -1: none
  std::vector<int> children;
};

// The rank's part in the reduction of chunk `tree`: adds up its children's sums and its own contribution.
// Where there is no parent the sum goes to `result`.
void send_up(Builder& builder, int lane, uint32_t tree, const Branch& branch, const std::vector<bool>& leaf,
             Ref result) {
  std::vector<Ref> sources;
  for (size_t i = 0; i < branch.children.size(); ++i) {
    const uint32_t area = builder.allocate_scratch(1);
    sources.push_back(leaf[i] ? scratch(area) : partial(area));
    builder.recv(lane, branch.children[i], sources.back(), up_tag(tree), 1, input(tree));
  }
  sources.push_back(input(tree));
  if (branch.parent < 0) return builder.reduce(lane, result, sources, input(tree));
  if (branch.children.empty()) return builder.send(lane, branch.parent, input(tree), up_tag(tree));
  const Ref sum = partial(builder.allocate_scratch(1));
  builder.reduce(lane, sum, sources, input(tree));
  builder.send(lane, branch.parent, sum, up_tag(tree), 1, input(tree));
}

void send_down(Builder& builder, int lane, uint32_t tree, const Branch& branch, Ref data) {
  for (int child : branch.children) builder.send(lane, child, data, down_tag(tree));
}

template <class ToRank>
Branch branch_of(const TreePlace& place, ToRank&& to_rank) {
  Branch branch{place.parent < 0 ? -1 : to_rank(place.parent), {}};
  for (int child : place.children) {
    if (child >= 0) branch.children.push_back(to_rank(child));
  }
  return branch;
}

template <class ToMember>
std::vector<bool> leaves(const Branch& branch, int n, int tree, ToMember&& to_member) {
  std::vector<bool> leaf;
  for (int child : branch.children) leaf.push_back(double_tree_place(to_member(child), n, tree).leaf());
  return leaf;
}

// The ranks but the root, numbered from the one behind it.
struct Others {
  const Shape& shape;
  int count() const { return shape.ranks - 1; }
  int rank_of(int member) const { return around(shape.root + 1 + member, shape.ranks); }
  int member_of(int rank) const { return around(rank - shape.root - 1, shape.ranks); }
  // The top of a tree hangs on the root; the root has it as its only child.
  Branch branch(int rank, int tree) const {
    if (rank == shape.root) {
      if (count() == 0) return {-1, {}};
      return {-1, {rank_of(double_tree_root(count(), tree))}};
    }
    const auto to_rank = [this](int member) { return rank_of(member); };
    Branch result = branch_of(double_tree_place(member_of(rank), count(), tree), to_rank);
    if (result.parent < 0) result.parent = shape.root;
    return result;
  }
};

}  // namespace

// Up and down have lanes of their own, so that one slice goes up while the one before comes down. The root of
// a tree sends its sum down from where it is made.
Result<Schedule> double_tree_all_reduce(const Shape& shape) {
  Builder builder(shape, kTrees);
  const auto same = [](int rank) { return rank; };
  for (int tree = 0; tree < kTrees; ++tree) {
    const int up = tree, down = kTrees + tree;
    const auto chunk = static_cast<uint32_t>(tree);
    const Branch branch = branch_of(double_tree_place(shape.rank, shape.ranks, tree), same);
    send_up(builder, up, chunk, branch, leaves(branch, shape.ranks, tree, same), output(chunk));
    if (branch.parent >= 0) builder.recv(down, branch.parent, output(chunk), down_tag(chunk));
    send_down(builder, branch.parent < 0 ? up : down, chunk, branch, output(chunk));
  }
  return std::move(builder).finish();
}

Result<Schedule> double_tree_broadcast(const Shape& shape) {
  Builder builder(shape, kTrees);
  const Others others{shape};
  for (int tree = 0; tree < kTrees; ++tree) {
    const auto chunk = static_cast<uint32_t>(tree);
    const Branch branch = others.branch(shape.rank, tree);
    if (!shape.is_root()) builder.recv(tree, branch.parent, output(chunk), down_tag(chunk));
    send_down(builder, tree, chunk, branch, shape.is_root() ? input(chunk) : output(chunk));
  }
  return std::move(builder).finish();
}

Result<Schedule> double_tree_reduce(const Shape& shape) {
  Builder builder(shape, kTrees);
  const Others others{shape};
  const auto to_member = [&](int rank) { return others.member_of(rank); };
  for (int tree = 0; tree < kTrees; ++tree) {
    const auto chunk = static_cast<uint32_t>(tree);
    const Branch branch = others.branch(shape.rank, tree);
    send_up(builder, tree, chunk, branch, leaves(branch, others.count(), tree, to_member), output(chunk));
  }
  return std::move(builder).finish();
}

}  // namespace wia
