// The phases that algorithms are composed of; each is explained in the file of the algorithm it comes from.
#pragma once
#include "algorithms/phase.hpp"

namespace wia {

// Afterwards every member has, in `result`, the sum of all members' `own` chunks of its block.
using ReduceScatter = void (*)(Flow& flow, const Blocks& blocks, Place own, Place result);
void direct_reduce_scatter(Flow& flow, const Blocks& blocks, Place own, Place result);
void pairwise_reduce_scatter(Flow& flow, const Blocks& blocks, Place own, Place result);
void ring_reduce_scatter(Flow& flow, const Blocks& blocks, Place own, Place result);
void halving_reduce_scatter(Flow& flow, const Blocks& blocks, Place own, Place result);
// The same for a team of one: its contribution is the sum, in another format maybe.
void sum_of_one(Flow& flow, const Blocks& blocks, Place own, Place result);

// Every member has the chunks of its block in `own`. Afterwards every member has all blocks in `all`.
using AllGather = void (*)(Flow& flow, const Blocks& blocks, Place own, Place all);
void direct_all_gather(Flow& flow, const Blocks& blocks, Place own, Place all);
// The part of it that sends and receives, without the copy to the own place in `all`.
struct Sharing {
  int complete = -1;                   // a member that has all blocks already and only sends
  const Arrivals* arrivals = nullptr;  // of the chunks of the own block: sent as they arrive
};
void share_directly(Flow& flow, const Blocks& blocks, Place own, Place all, const Sharing& sharing = {});
void pairwise_all_gather(Flow& flow, const Blocks& blocks, Place own, Place all);
void ring_all_gather(Flow& flow, const Blocks& blocks, Place own, Place all);
void doubling_all_gather(Flow& flow, const Blocks& blocks, Place own, Place all);
void bruck_all_gather(Flow& flow, const Blocks& blocks, Place own, Place all);

// The two for any number of members, by counts of blocks held that grow from 1 to all (circulant.cpp).
void circulant_reduce_scatter(Flow& flow, std::span<const int> counts, const Blocks& blocks, Place own,
                              Place result);
void circulant_all_gather(Flow& flow, std::span<const int> counts, const Blocks& blocks, Place own,
                          Place all);

// An all_reduce of the two, and which lanes they may have.
enum class Streams {
  one_lane,  // all in one lane
  one,       // one lane that sends, one that receives
  two,       // each phase its own: a member sends another one message at most in each
};
struct Composition {
  ReduceScatter reduce_scatter;
  AllGather all_gather;
  Streams (*streams)(int members);
};
extern const Composition kDirectPhases, kPairwisePhases, kRingPhases, kHalvingDoublingPhases;

// Afterwards every member has the sum of all members' `own` chunks in `result`.
void recursive_doubling_all_reduce(Flow& flow, Run run, Place own, Place result, bool in_place);

// From member `root`'s `from` to everyone else's `to`.
void knomial_broadcast(Flow& flow, int root, int radix, Run run, Place from, Place to);
void chain_broadcast(Flow& flow, int root, Run run, Place from, Place to);
// The sum of all `own` to member `root`'s `result`.
void knomial_reduce(Flow& flow, int root, int radix, uint32_t chunk, Place own, Place result);
void chain_reduce(Flow& flow, int root, uint32_t chunk, Place own, Place result);

// Nobody leaves before all have come. Steps go to `lane`, messages have tags from `tag` on.
void direct_barrier(Builder& builder, const Team& team, int lane, int tag);
void dissemination_barrier(Builder& builder, const Team& team, int lane, int tag);

}  // namespace wia
