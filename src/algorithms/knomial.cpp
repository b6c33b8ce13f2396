// knomial: a tree of about log_k n levels in which every member has up to k - 1 children a level (k, the
// radix, is 2 in the well-known binomial tree).
//
// Members are numbered from the root. In base k, a member's children differ from it in one of the zero
// digits at its end; its subtree is the members with the same digits before. So a subtree is a row of
// consecutive members, and gather and scatter move it as one message. A larger radix has fewer levels, but
// more messages that one member sends after each other: 4 is a good middle where several are on their way
// at a time.
#include "algorithms/builders.hpp"
#include "algorithms/peers.hpp"
#include "algorithms/phases.hpp"

namespace wia {

void knomial_broadcast(Flow& flow, int root, int radix, Run run, Place from, Place to) {
  const int n = flow.size();
  const int me = around(flow.me() - root, n);
  const auto member = [&](int numbered_from_root) { return around(numbered_from_root + root, n); };
  if (me > 0) flow.recv(member(knomial_parent(me, radix)), run, to);
  for (const Subtree& child : knomial_children(me, n, radix)) {
    flow.forward(member(child.root), run, me == 0 ? from : to);
  }
}

// Small subtrees are complete first.
void knomial_reduce(Flow& flow, int root, int radix, uint32_t chunk, Place own, Place result) {
  const int n = flow.size();
  const int me = around(flow.me() - root, n);
  const auto member = [&](int numbered_from_root) { return around(numbered_from_root + root, n); };
  const Run run{chunk, 1};
  std::vector<Subtree> children = knomial_children(me, n, radix);
  std::reverse(children.begin(), children.end());
  const int parent = member(std::max(knomial_parent(me, radix), 0));
  if (me > 0 && children.empty()) return flow.forward(parent, run, own);
  std::vector<Ref> sources = {own.at(chunk)};
  for (const Subtree& child : children) {
    sources.push_back(
        flow.recv_aside(member(child.root), run, child.size == 1 ? own.format() : Format::partial).origin);
  }
  const Place sum = me == 0 ? result : flow.partials(run);
  flow.reduce(run, sum, sources);
  if (me > 0) flow.forward(parent, run, sum);
}

Result<Schedule> knomial_broadcast(const Shape& shape, int radix) {
  Builder builder(shape);
  const Team team = whole_group(shape);
  Flow flow(builder, team, Buffer::output, {0, 1}, 0);
  knomial_broadcast(flow, shape.root, radix, Run{0, 1}, Place{input(0)}, Place{output(0)});
  return std::move(builder).finish();
}

Result<Schedule> knomial_reduce(const Shape& shape, int radix) {
  Builder builder(shape);
  const Team team = whole_group(shape);
  Flow flow(builder, team, Buffer::input, {0, 1}, 0);
  knomial_reduce(flow, shape.root, radix, 0, Place{input(0)}, Place{output(0)});
  return std::move(builder).finish();
}

namespace {

// Blocks of a subtree, as they lie in the root's buffer: one row of chunks, or two around its end.
template <class Function>
void for_each_row(const Shape& shape, Subtree subtree, Function&& function) {
  const int first = around(subtree.root + shape.root, shape.ranks);
  const int straight = std::min(subtree.size, shape.ranks - first);
  function(Run{static_cast<uint32_t>(first), static_cast<uint32_t>(straight)}, subtree.root);
  if (straight < subtree.size) {
    function(Run{0, static_cast<uint32_t>(subtree.size - straight)}, subtree.root + straight);
  }
}

// Where blocks wait on an inner member: in scratch, in the order of members.
struct Waiting {
  uint32_t area;
  int first;  // member
  Ref at(int member) const { return scratch(area + static_cast<uint32_t>(member - first)); }
};

int subtree_size(int member, int n, int radix) {
  int size = 1;
  for (const Subtree& child : knomial_children(member, n, radix)) size += child.size;
  return size;
}

}  // namespace

// Tags are blocks: the first of a row.
Result<Schedule> knomial_gather(const Shape& shape, int radix) {
  Builder builder(shape);
  const auto rank = static_cast<uint32_t>(shape.rank);
  const int me = around(shape.rank - shape.root, shape.ranks);
  std::vector<Subtree> children = knomial_children(me, shape.ranks, radix);
  std::reverse(children.begin(), children.end());
  const int size = subtree_size(me, shape.ranks, radix);
  const bool inner = me > 0 && size > 1;
  const Waiting waiting{inner ? builder.allocate_scratch(static_cast<uint32_t>(size)) : 0, me};
  if (inner) builder.copy(0, waiting.at(me), input(0), 1, output(rank));
  if (me == 0 && !shape.in_place) builder.copy(0, output(rank), input(0), 1, output(rank));
  for (const Subtree& child : children) {
    const int from = around(child.root + shape.root, shape.ranks);
    for_each_row(shape, child, [&](Run row, int member) {
      const Ref to = me == 0 ? output(row.first) : waiting.at(member);
      builder.recv(0, from, to, static_cast<int>(row.first), row.count, output(row.first));
    });
  }
  if (me == 0) return std::move(builder).finish();
  const int parent = around(knomial_parent(me, radix) + shape.root, shape.ranks);
  for_each_row(shape, Subtree{me, size}, [&](Run row, int member) {
    const Ref from = inner ? waiting.at(member) : input(0);
    builder.send(0, parent, from, static_cast<int>(row.first), row.count, output(row.first));
  });
  return std::move(builder).finish();
}

Result<Schedule> knomial_scatter(const Shape& shape, int radix) {
  Builder builder(shape);
  const auto rank = static_cast<uint32_t>(shape.rank);
  const int me = around(shape.rank - shape.root, shape.ranks);
  const int size = subtree_size(me, shape.ranks, radix);
  const bool inner = me > 0 && size > 1;
  const Waiting waiting{inner ? builder.allocate_scratch(static_cast<uint32_t>(size)) : 0, me};
  if (me > 0) {
    const int parent = around(knomial_parent(me, radix) + shape.root, shape.ranks);
    for_each_row(shape, Subtree{me, size}, [&](Run row, int member) {
      const Ref to = inner ? waiting.at(member) : output(0);
      builder.recv(0, parent, to, static_cast<int>(row.first), row.count, input(row.first));
    });
  }
  for (const Subtree& child : knomial_children(me, shape.ranks, radix)) {
    const int to = around(child.root + shape.root, shape.ranks);
    for_each_row(shape, child, [&](Run row, int member) {
      const Ref from = me == 0 ? input(row.first) : waiting.at(member);
      builder.send(0, to, from, static_cast<int>(row.first), row.count, input(row.first));
    });
  }
  if (inner) builder.copy(0, output(0), waiting.at(me), 1, input(rank));
  if (me == 0 && !shape.in_place) builder.copy(0, output(0), input(rank), 1, input(rank));
  return std::move(builder).finish();
}

// Gathers and releases without data.
Result<Schedule> knomial_barrier(const Shape& shape, int radix) {
  constexpr int kCome = 0, kGo = 1;  // tags
  Builder builder(shape);
  const std::vector<Subtree> children = knomial_children(shape.rank, shape.ranks, radix);
  for (const Subtree& child : children) builder.recv(0, child.root, Ref(), kCome, 0);
  if (shape.rank > 0) {
    const int parent = knomial_parent(shape.rank, radix);
    builder.send(0, parent, Ref(), kCome, 0);
    builder.recv(0, parent, Ref(), kGo, 0);
  }
  for (const Subtree& child : children) builder.send(0, child.root, Ref(), kGo, 0);
  return std::move(builder).finish();
}

}  // namespace wia
