// pairwise: n - 1 rounds; in round s everyone sends to the member s behind it and receives from the one s
// before it, and begins the next round only then. Needs little memory, and no member is ever sent to by two
// others at the same time: for large data on links that do not like that.
#include "algorithms/builders.hpp"
#include "algorithms/flat.hpp"
#include "algorithms/peers.hpp"

namespace wia {

void pairwise_reduce_scatter(Flow& flow, const Blocks& blocks, Place own, Place result) {
  const int n = flow.size();
  if (n == 1) return sum_of_one(flow, blocks, own, result);
  const Place sums = flow.partials(blocks.range_of(flow.me()));
  for (int round = 1; round < n; ++round) {
    const int to = flow.member(round), from = flow.member(-round);
    flow.sends_after_received();
    blocks.for_each_run(to, 1, [&](Run run) { flow.send(to, run, own); });
    blocks.for_each_run(flow.me(), 1, [&](Run run) {
      flow.recv_reduce(from, run, round == n - 1 ? result : sums, round == 1 ? own : sums, own.format());
    });
  }
}

void pairwise_all_gather(Flow& flow, const Blocks& blocks, Place own, Place all) {
  blocks.for_each_run(flow.me(), 1, [&](Run run) { flow.copy(run, all, own); });
  for (int round = 1; round < flow.size(); ++round) {
    const int to = flow.member(round), from = flow.member(-round);
    if (round > 1) flow.sends_after_received();
    blocks.for_each_run(flow.me(), 1, [&](Run run) { flow.send(to, run, own); });
    blocks.for_each_run(from, 1, [&](Run run) { flow.recv(from, run, all); });
  }
}

const Composition kPairwisePhases = {pairwise_reduce_scatter, pairwise_all_gather,
                                     [](int) { return Streams::two; }};

Result<Schedule> pairwise_reduce_scatter(const Shape& shape) {
  return flat_reduce_scatter(shape, pairwise_reduce_scatter);
}

Result<Schedule> pairwise_all_gather(const Shape& shape) {
  return flat_all_gather(shape, pairwise_all_gather);
}

// A round is a meeting of two. In place, what arrives overwrites what goes to the same peer: so it is taken
// out of the buffer before the other's is let in.
Result<Schedule> pairwise_all_to_all(const Shape& shape) {
  Builder builder(shape);
  for (int meeting = 0; meeting < shape.ranks; ++meeting) {
    const int peer = meeting_partner(shape.rank, meeting, shape.ranks);
    const auto chunk = static_cast<uint32_t>(peer);
    if (peer == shape.rank) {
      if (!shape.in_place) builder.copy(0, output(chunk), input(chunk), 1, input(chunk));
      continue;
    }
    builder.send(0, peer, input(chunk), 0);
    if (shape.in_place) builder.take(0);
    builder.recv(0, peer, output(chunk), 0);
  }
  return std::move(builder).finish();
}

}  // namespace wia
