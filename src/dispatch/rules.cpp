#include "dispatch/rules.hpp"

namespace wia {
namespace {

constexpr size_t kKiB = 1024;

// Ranks that share memory read one another's data where it lies, so one round with an n-ary reduction
// beats any tree until the reading of everything by everyone costs more than a second round.
Choice on_one_node(Collective collective, size_t bytes, int ranks) {
  switch (collective) {
    case Collective::all_reduce:
      if (bytes * static_cast<size_t>(ranks) <= 16 * kKiB)
        return {"direct", "small, shared memory: one round, every rank reduces everything"};
      return {"two_phase", "shared memory: every rank reduces its chunk of all inputs, then shares it"};
    case Collective::reduce:
      if (bytes <= 256 * kKiB || ranks <= 2)
        return {"direct", "shared memory, small or two ranks: the root reads and adds up everything"};
      return {"two_phase", "shared memory: every rank reduces a chunk, the root collects them"};
    case Collective::barrier:
      return {ranks <= 8 ? "direct" : "dissemination", "few ranks: one round; many: log rounds"};
    default:
      return {"direct", "shared memory: one round"};
  }
}

// Large data between nodes of one rank each. Few peers can be served at once, and all links are busy whatever
// a slice waits for; more of them would meet at one link.
Choice on_single_ranks(Collective collective, int nodes) {
  constexpr int kFew = 4;
  if (nodes > kFew) return {"ring", "large, one rank a node: neighbours only"};
  return {collective == Collective::all_reduce ? "two_phase" : "direct",
          "large, few nodes of one rank: all links at once"};
}

// Between nodes data goes over a network: as little as possible crosses it, by all ranks of a node at once.
Choice on_several_nodes(Collective collective, size_t bytes, int ranks, int nodes, bool even) {
  const bool exchanges = collective == Collective::all_reduce || collective == Collective::all_gather ||
                         collective == Collective::reduce_scatter;
  if (exchanges && ranks == nodes && bytes >= 128 * kKiB * static_cast<size_t>(nodes))
    return on_single_ranks(collective, nodes);
  switch (collective) {
    case Collective::all_reduce:
      if (bytes < 48 * kKiB)
        return {"hierarchical_doubling", "small, several nodes: least rounds across nodes"};
      // The ring is the steadier stream; halving takes fewer rounds.
      if (bytes >= 256 * kKiB * static_cast<size_t>(nodes))
        return {"hierarchical_ring", "large, several nodes: neighbours only"};
      return {"hierarchical", "several nodes: least traffic across nodes"};
    case Collective::all_gather:
    case Collective::reduce_scatter:
      if (bytes < 48 * kKiB && ranks <= 4 * nodes)
        return {"halving_doubling", "small, few ranks a node: least rounds in all"};
      return {"hierarchical", "several nodes: least traffic across nodes"};
    case Collective::barrier:
      return {"hierarchical", "several nodes"};
    case Collective::broadcast:
    case Collective::reduce:
      // A chain carries the data once, a tree log2 of the nodes times; but a slice takes a step for each
      // node.
      if (bytes >= 16 * kKiB * static_cast<size_t>(nodes))
        return {"hierarchical_chain", "large, several nodes: each link carries the data once"};
      return {"hierarchical", "several nodes: few rounds"};
    case Collective::all_to_all:
      if (even) return {"hierarchical", "several nodes: one message between two nodes"};
      return {"pairwise", "several nodes, blocks of different lengths"};
    default:
      return {"direct", "every block to its place at once"};
  }
}

}  // namespace

Choice choose_by_standard(size_t bytes, int ranks, bool ring_topology) {
  if (bytes < kKiB) return {"recursive_doubling", "6.4: below 1 KB, least latency"};
  if (bytes < kKiB * kKiB) {
    if (ranks <= 8) return {"double_tree", "6.4: below 1 MB, at most 8 devices: tree"};
    return {"halving_doubling", "6.4: below 1 MB, more than 8 devices"};
  }
  return {ring_topology ? "ring" : "hierarchical", "6.4: large: least traffic"};
}

Choice choose_by_rules(Collective collective, size_t bytes, int ranks, int nodes, bool even,
                       bool deterministic) {
  if (deterministic && reduces(collective)) {
    if (collective == Collective::all_reduce)
      return {"two_phase", "deterministic: combines in the order of ranks"};
    return {"direct", "deterministic: combines in the order of ranks"};
  }
  return nodes <= 1 ? on_one_node(collective, bytes, ranks)
                    : on_several_nodes(collective, bytes, ranks, nodes, even);
}

}  // namespace wia
