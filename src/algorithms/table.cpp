#include <fmt/format.h>

#include <deque>
#include <mutex>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "algorithms/builders.hpp"
#include "algorithms/level_phases.hpp"

namespace wia {
namespace {

// The radix of knomial trees.
constexpr int kRadix = 4;
template <Result<Schedule> (*kBuild)(const Shape&, int)>
Result<Schedule> with_radix(const Shape& shape) {
  return kBuild(shape, kRadix);
}

// What `rank_order` and `uneven` are for, in the order of the columns below.
constexpr bool kRankOrder = true, kAnyOrder = false;
constexpr bool kUneven = true, kEvenOnly = false;
using enum Collective;

// What the levels of hierarchical algorithms run, by the name's end: all but the outermost run `direct`.
constexpr LevelAlgorithms outermost(LevelAlgorithm algorithm) {
  return {{LevelAlgorithm::direct, algorithm}, 2};
}
constexpr LevelAlgorithms kHalving = outermost(LevelAlgorithm::halving_doubling),
                          kRing = outermost(LevelAlgorithm::ring),
                          kDoubling = outermost(LevelAlgorithm::recursive_doubling),
                          kTree = outermost(LevelAlgorithm::tree), kChain = outermost(LevelAlgorithm::chain);

constexpr Algorithm kAlgorithms[] = {
    {all_reduce, "direct", "everybody sends all to everybody, who adds it all up: one round", kRankOrder,
     kUneven, direct_all_reduce},
    {all_reduce, "two_phase",
     "each rank adds up one chunk of all inputs and sends the sum to all: two rounds", kRankOrder, kUneven,
     two_phase_all_reduce},
    {all_reduce, "recursive_doubling", "partners swap all and add, log2 P times: least rounds for small data",
     kAnyOrder, kUneven, recursive_doubling_all_reduce},
    {all_reduce, "halving_doubling",
     "partners split the work, then collect the results: few rounds, least traffic", kAnyOrder, kUneven,
     halving_doubling_all_reduce},
    {all_reduce, "ring", "chunks go around a ring twice: least traffic, neighbours only", kAnyOrder, kUneven,
     ring_all_reduce},
    {all_reduce, "double_tree", "two binary trees for half of the data each: few hops, all links used",
     kAnyOrder, kUneven, double_tree_all_reduce},
    {all_reduce, "hierarchical", "inside nodes directly, across nodes by halving and doubling", kAnyOrder,
     kUneven, hierarchical_all_reduce, kHalving},
    {all_reduce, "hierarchical_ring", "inside nodes directly, across nodes by rings", kAnyOrder, kUneven,
     hierarchical_all_reduce, kRing},
    {all_reduce, "hierarchical_doubling",
     "inside nodes directly, across nodes by recursive doubling: for small data", kAnyOrder, kUneven,
     hierarchical_all_reduce, kDoubling},

    {all_gather, "direct", "everybody sends its block to everybody: one round", kRankOrder, kUneven,
     direct_all_gather},
    {all_gather, "ring", "blocks go around a ring: neighbours only", kRankOrder, kUneven, ring_all_gather},
    {all_gather, "recursive_doubling", "partners swap all they have, log2 P times", kRankOrder, kUneven,
     halving_doubling_all_gather},
    {all_gather, "halving_doubling", "the same as recursive_doubling", kRankOrder, kUneven,
     halving_doubling_all_gather},
    {all_gather, "bruck",
     "everyone gets twice as many blocks from ever farther ranks: log2 P rounds for any P", kRankOrder,
     kUneven, bruck_all_gather},
    {all_gather, "pairwise", "one partner a round", kRankOrder, kUneven, pairwise_all_gather},
    {all_gather, "hierarchical", "across nodes by doubling, each block shared inside the node as it arrives",
     kRankOrder, kUneven, hierarchical_all_gather, kHalving},
    {all_gather, "hierarchical_ring",
     "across nodes by rings, each block shared inside the node as it arrives", kRankOrder, kUneven,
     hierarchical_all_gather, kRing},

    {reduce_scatter, "direct", "everybody sends everybody its block of the input: one round", kRankOrder,
     kUneven, direct_reduce_scatter},
    {reduce_scatter, "ring", "sums go around a ring: least traffic, neighbours only", kAnyOrder, kUneven,
     ring_reduce_scatter},
    {reduce_scatter, "halving_doubling", "partners split the work, log2 P times: least traffic", kAnyOrder,
     kUneven, halving_doubling_reduce_scatter},
    {reduce_scatter, "pairwise", "one partner a round, added up one after the other", kAnyOrder, kUneven,
     pairwise_reduce_scatter},
    {reduce_scatter, "hierarchical", "inside nodes directly, then across nodes by halving", kAnyOrder,
     kUneven, hierarchical_reduce_scatter, kHalving},
    {reduce_scatter, "hierarchical_ring", "inside nodes directly, then across nodes by rings", kAnyOrder,
     kUneven, hierarchical_reduce_scatter, kRing},

    {broadcast, "direct", "the root sends to everybody", kRankOrder, kUneven, direct_broadcast},
    {broadcast, "two_phase", "the root spreads chunks, the others exchange them: little traffic at the root",
     kRankOrder, kUneven, two_phase_broadcast},
    {broadcast, "knomial", "a tree of radix 4: few rounds for small data", kRankOrder, kUneven,
     with_radix<knomial_broadcast>},
    {broadcast, "double_tree", "two binary trees for half of the data each", kRankOrder, kUneven,
     double_tree_broadcast},
    {broadcast, "chain", "from rank to rank, slice behind slice: for large data", kRankOrder, kUneven,
     chain_broadcast},
    {broadcast, "hierarchical", "spread inside the root's node, across nodes by trees, shared inside nodes",
     kRankOrder, kUneven, hierarchical_broadcast, kTree},
    {broadcast, "hierarchical_chain",
     "spread inside the root's node, from node to node slice behind slice, shared inside nodes: for large "
     "data",
     kRankOrder, kUneven, hierarchical_broadcast, kChain},

    {reduce, "direct", "everybody sends to the root, who adds it all up", kRankOrder, kUneven, direct_reduce},
    {reduce, "two_phase", "each rank adds up one chunk of all inputs and sends the sum to the root",
     kRankOrder, kUneven, two_phase_reduce},
    {reduce, "knomial", "a tree of radix 4: few rounds for small data", kAnyOrder, kUneven,
     with_radix<knomial_reduce>},
    {reduce, "double_tree", "two binary trees for half of the data each", kAnyOrder, kUneven,
     double_tree_reduce},
    {reduce, "chain", "from rank to rank, slice behind slice: for large data", kAnyOrder, kUneven,
     chain_reduce},
    {reduce, "hierarchical", "inside nodes directly, across nodes by trees, collected in the root's node",
     kAnyOrder, kUneven, hierarchical_reduce, kTree},
    {reduce, "hierarchical_chain",
     "inside nodes directly, from node to node slice behind slice, collected in the root's node: for large "
     "data",
     kAnyOrder, kUneven, hierarchical_reduce, kChain},

    {gather, "direct", "everybody sends to the root", kRankOrder, kUneven, direct_gather},
    {gather, "knomial", "a tree of radix 4: few messages for small data", kRankOrder, kUneven,
     with_radix<knomial_gather>},
    {scatter, "direct", "the root sends to everybody", kRankOrder, kUneven, direct_scatter},
    {scatter, "knomial", "a tree of radix 4: few messages for small data", kRankOrder, kUneven,
     with_radix<knomial_scatter>},

    {all_to_all, "direct", "everybody sends to everybody: one round", kRankOrder, kUneven, direct_all_to_all},
    {all_to_all, "pairwise", "one partner a round", kRankOrder, kUneven, pairwise_all_to_all},
    {all_to_all, "bruck", "log2 P rounds for small blocks of equal length", kRankOrder, kEvenOnly,
     bruck_all_to_all},
    {all_to_all, "hierarchical", "one message between two nodes for a whole node's blocks, of equal length",
     kRankOrder, kEvenOnly, hierarchical_all_to_all},

    {barrier, "direct", "everybody tells everybody: one round", kRankOrder, kUneven, direct_barrier},
    {barrier, "dissemination", "everyone tells one other in each of log2 P rounds", kRankOrder, kUneven,
     dissemination_barrier},
    {barrier, "knomial", "up a tree of radix 4 and down again", kRankOrder, kUneven,
     with_radix<knomial_barrier>},
    {barrier, "hierarchical", "inside nodes, then between one rank of each", kRankOrder, kUneven,
     hierarchical_barrier},
};

}  // namespace

std::span<const Algorithm> all_algorithms() { return kAlgorithms; }

std::vector<const Algorithm*> algorithms_of(Collective collective) {
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.collective == collective) found.push_back(&algorithm);
  }
  return found;
}

namespace {

// Algorithms made of named levels are kept, so that a name is always the same object.
Result<const Algorithm*> hierarchical_of(const Algorithm& whole, std::string_view name,
                                         std::string_view levels) {
  static std::mutex mutex;
  static std::deque<std::pair<std::string, Algorithm>> known;
  std::lock_guard lock(mutex);
  for (const auto& [text, algorithm] : known) {
    if (text == name && algorithm.collective == whole.collective) return &algorithm;
  }
  auto parsed = parse_levels(whole.collective, levels);
  if (!parsed) return parsed.take_status();
  auto& [text, algorithm] = known.emplace_back(name, whole);
  algorithm.name = text.c_str();
  algorithm.summary = "levels run what the name says, from the innermost";
  algorithm.levels = *parsed;
  algorithm.row = &whole;
  return &algorithm;
}

}  // namespace

Result<Schedule> Algorithm::build(const Shape& shape) const {
  if (levels.count == 0) return builder(shape);
  Shape with_levels = shape;
  with_levels.level_algorithms = levels;
  return builder(with_levels);
}

Result<const Algorithm*> find_algorithm(Collective collective, std::string_view name) {
  std::string names;
  for (const Algorithm* algorithm : algorithms_of(collective)) {
    if (algorithm->name == name) return algorithm;
    names += names.empty() ? "" : ", ";
    names += algorithm->name;
  }
  constexpr std::string_view kLevelled = "hierarchical:";
  if (name.starts_with(kLevelled)) {
    auto whole = find_algorithm(collective, kLevelled.substr(0, kLevelled.size() - 1));
    return whole ? hierarchical_of(**whole, name, name.substr(kLevelled.size())) : std::move(whole);
  }
  return Status::error(Code::invalid_argument, "{} has no algorithm \"{}\"; there are: {}",
                       name_of(collective), name, names);
}

}  // namespace wia
