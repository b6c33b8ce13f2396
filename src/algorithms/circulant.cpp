// Reduce_scatter and all_gather for any number n of members in ceil(log2 n) rounds with the least traffic:
// n - 1 blocks.
//
//   all_gather      Every member holds its own block and those behind it: h of them, counted around the
//                   end. In a round it gets the next ones from the member h behind it, who holds them, and
//                   so holds more. The numbers h are given: 1, 2, 4, ... n (Bruck and others, 1997), or n
//                   halved again and again.
//   reduce_scatter  The same backwards: a member gives its sums of the last blocks that it holds to the one
//                   they are nearer to, until only its own block is left (Träff, "Optimal, non-pipelined
//                   reduce-scatter and allreduce algorithms", 2024).
//
// Needs no power of two, and everyone does the same in each round. Blocks stand at their final places
// throughout.
#include "algorithms/phases.hpp"

namespace wia {

void circulant_all_gather(Flow& flow, std::span<const int> counts, const Blocks& blocks, Place own,
                          Place all) {
  const int me = flow.me();
  blocks.for_each_run(me, 1, [&](Run run) { flow.copy(run, all, own); });
  for (size_t round = 0; round + 1 < counts.size(); ++round) {
    const int held = counts[round], more = counts[round + 1] - held;
    const int from = flow.member(held), to = flow.member(-held);
    if (round == 0) {
      blocks.for_each_run(me, 1, [&](Run run) { flow.send_own(to, run, own); });
    } else {
      flow.sends_after_received();
      blocks.for_each_run(me, more, [&](Run run) { flow.send(to, run, all); });
    }
    blocks.for_each_run(from, more, [&](Run run) { flow.recv(from, run, all); });
  }
}

namespace {

// Blocks at offsets begin .. begin + count - 1 from a member.
struct Part {
  int begin, count;
};

}  // namespace

// `summed`: how many of the blocks that a member holds, from its own on, are in `sums` instead of being its
// raw contribution. It is the same for everyone. A message holds one or the other, and is added to one or the
// other, so the blocks of a round fall into three parts.
void circulant_reduce_scatter(Flow& flow, std::span<const int> counts, const Blocks& blocks, Place own,
                              Place result) {
  if (flow.size() == 1) return sum_of_one(flow, blocks, own, result);
  const Place sums = flow.sums_of(own, blocks.range());
  int summed = sums == own ? flow.size() : 0;
  for (size_t round = counts.size() - 1; round > 0; --round) {
    const int keep = counts[round - 1], give = counts[round] - keep;
    const int to = flow.member(keep), from = flow.member(-keep);
    const int sums_arrive = std::clamp(summed - keep, 0, give), sums_here = std::min(summed, give);
    const Part parts[] = {
        {0, sums_arrive}, {sums_arrive, sums_here - sums_arrive}, {sums_here, give - sums_here}};
    if (summed > keep) flow.sends_after_received();
    for (const Part& part : parts) {
      const Place from_place = part.begin < sums_arrive ? sums : own;
      blocks.for_each_run(flow.member(keep + part.begin), part.count,
                          [&](Run run) { flow.send(to, run, from_place); });
    }
    for (const Part& part : parts) {
      const Format arriving = part.begin < sums_arrive ? Format::partial : own.format();
      const Place here = part.begin < sums_here ? sums : own;
      blocks.for_each_run(flow.member(part.begin), part.count, [&](Run run) {
        flow.recv_reduce(from, run, round == 1 ? result : sums, here, arriving);
      });
    }
    summed = std::min(keep, std::max(summed, give));
  }
}

}  // namespace wia
