// ring: everybody sends to the next rank and receives from the previous one only.
//
//   reduce_scatter  Block b sets out as a raw contribution at the rank behind b, and each rank it passes
//                   adds its own, until the sum is complete at b: n - 1 hops. All blocks travel at the same
//                   time.
//   all_gather      Each block travels once around.
//   all_reduce      One after the other: 2(n - 1) hops of 1/n of the data.
//
// The least traffic, and only between neighbours: the choice for large data on few or slow links (Patarasuk
// and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009).
#include "algorithms/builders.hpp"
#include "algorithms/flat.hpp"

namespace wia {

// If a block is one message, all happens in one lane, a sum being passed on in one step with the addition.
// That cannot lock up: except for the block that sets out, a rank passes on what it has received, so not all
// channels of the ring can be full. Else there is a lane that sends.
void ring_reduce_scatter(Flow& flow, const Blocks& blocks, Place own, Place result) {
  const int n = flow.size();
  if (n == 1) return sum_of_one(flow, blocks, own, result);
  const int next = flow.member(1), previous = flow.member(-1);
  const bool one_lane = blocks.most_runs() == 1 && !flow.lanes_apart();
  const auto pass_on = [&](Run run, Place from) {
    if (one_lane) return flow.forward(next, run, from);
    flow.sends_after_received();
    flow.send(next, run, from);
  };
  const Place sums = flow.sums_of(own, blocks.range());
  blocks.for_each_run(previous, 1, [&](Run run) { pass_on(run, own); });
  for (int hop = 1; hop < n; ++hop) {
    const bool last = hop == n - 1;
    const Format arriving = hop == 1 ? own.format() : Format::partial;
    blocks.for_each_run(flow.member(-1 - hop), 1, [&](Run run) {
      flow.recv_reduce(previous, run, last ? result : sums, own, arriving);
      if (!last) pass_on(run, sums);
    });
  }
}

void ring_all_gather(Flow& flow, const Blocks& blocks, Place own, Place all) {
  const int n = flow.size();
  const int next = flow.member(1), previous = flow.member(-1);
  blocks.for_each_run(flow.me(), 1, [&](Run run) {
    flow.copy(run, all, own);
    if (n > 1) flow.send_own(next, run, own);
  });
  for (int hop = 1; hop < n; ++hop) {
    blocks.for_each_run(flow.member(-hop), 1, [&](Run run) {
      flow.recv(previous, run, all);
      if (hop == n - 1) return;
      flow.sends_after_received();
      flow.send(next, run, all);
    });
  }
}

Result<Schedule> ring_reduce_scatter(const Shape& shape) {
  return flat_reduce_scatter(shape, ring_reduce_scatter);
}

Result<Schedule> ring_all_gather(const Shape& shape) { return flat_all_gather(shape, ring_all_gather); }

// Both phases send the next rank many messages: one lane keeps them in order.
const Composition kRingPhases = {ring_reduce_scatter, ring_all_gather, [](int) { return Streams::one_lane; }};

Result<Schedule> ring_all_reduce(const Shape& shape) { return flat_all_reduce(shape, kRingPhases); }

}  // namespace wia
