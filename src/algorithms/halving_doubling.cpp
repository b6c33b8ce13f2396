// halving_doubling: Rabenseifner's all_reduce (Thakur, Rabenseifner, Gropp, "Optimization of collective
// communication operations in MPICH", 2005).
//
//   reduce_scatter  Recursive halving. The members are the corners of a cube. In each round a member and
//                   its partner across one dimension split the blocks that they both work on: each gives
//                   the other its sums of that half which the other keeps.
//   all_gather      Recursive doubling, the same backwards: partners swap all that they have.
//
// log2 n rounds each and the least traffic. Where the number of members is no power of two there is no
// cube; then the same is done around a circle (circulant.cpp), which takes ceil(log2 n) rounds and no more
// traffic, while folding the members that are too many into others would send all the data twice more.
#include "algorithms/builders.hpp"
#include "algorithms/flat.hpp"
#include "algorithms/peers.hpp"

namespace wia {

void halving_reduce_scatter(Flow& flow, const Blocks& blocks, Place own, Place result) {
  const int n = flow.size(), me = flow.me();
  if (!is_power_of_two(n)) return circulant_reduce_scatter(flow, halving_counts(n), blocks, own, result);
  if (n == 1) return sum_of_one(flow, blocks, own, result);
  const Place sums = flow.sums_of(own, blocks.range());
  Place here = own;
  int first = 0;  // of the 2 * half blocks that this member and its partner still work on
  for (int half = n / 2; half > 0; half /= 2) {
    const int partner = me ^ half;
    const int keep = me & half ? first + half : first;
    const int give = me & half ? first : first + half;
    const Place next = half == 1 ? result : sums;
    if (half < n / 2) flow.sends_after_received();
    blocks.for_each_run(give, half, [&](Run run) { flow.send(partner, run, here); });
    blocks.for_each_run(keep, half,
                        [&](Run run) { flow.recv_reduce(partner, run, next, here, here.format()); });
    here = sums;
    first = keep;
  }
}

void doubling_all_gather(Flow& flow, const Blocks& blocks, Place own, Place all) {
  const int n = flow.size(), me = flow.me();
  if (!is_power_of_two(n)) return circulant_all_gather(flow, halving_counts(n), blocks, own, all);
  blocks.for_each_run(me, 1, [&](Run run) { flow.copy(run, all, own); });
  for (int held = 1; held < n; held *= 2) {
    const int partner = me ^ held;
    const int mine = me & ~(held - 1), theirs = partner & ~(held - 1);
    if (held == 1) {
      blocks.for_each_run(mine, 1, [&](Run run) { flow.send_own(partner, run, own); });
    } else {
      flow.sends_after_received();
      blocks.for_each_run(mine, held, [&](Run run) { flow.send(partner, run, all); });
    }
    blocks.for_each_run(theirs, held, [&](Run run) { flow.recv(partner, run, all); });
  }
}

Result<Schedule> halving_doubling_reduce_scatter(const Shape& shape) {
  return flat_reduce_scatter(shape, halving_reduce_scatter);
}

Result<Schedule> halving_doubling_all_gather(const Shape& shape) {
  return flat_all_gather(shape, doubling_all_gather);
}

// Partners meet once in each phase. Around a circle, a member may send another several messages.
const Composition kHalvingDoublingPhases = {halving_reduce_scatter, doubling_all_gather, [](int members) {
                                              return is_power_of_two(members) ? Streams::two : Streams::one;
                                            }};

Result<Schedule> halving_doubling_all_reduce(const Shape& shape) {
  return flat_all_reduce(shape, kHalvingDoublingPhases);
}

}  // namespace wia
