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

Result<Schedule> pairwise_reduce_scatter(const Shape& shape) {
  return flat_reduce_scatter(shape, pairwise_reduce_scatter);
}

Result<Schedule> pairwise_all_gather(const Shape& shape) {
  return flat_all_gather(shape, pairwise_all_gather);
}

// In place, what arrives overwrites what goes to the same peer. So a round is a meeting of two, who both
// take their data out of the buffer before they let the other's in.
Result<Schedule> pairwise_all_to_all(const Shape& shape) {
  Builder builder(shape);
  const auto rank = static_cast<uint32_t>(shape.rank);
  if (!shape.in_place) builder.copy(0, output(rank), input(rank), 1, input(rank));
  for (int round = 0; round < shape.ranks; ++round) {
    const int meeting = meeting_partner(shape.rank, round, shape.ranks);
    const int to = shape.in_place ? meeting : around(shape.rank + round, shape.ranks);
    const int from = shape.in_place ? meeting : around(shape.rank - round, shape.ranks);
    if (to == shape.rank) continue;
    builder.send(0, to, input(static_cast<uint32_t>(to)), 0);
    if (shape.in_place) builder.take(0);
    builder.recv(0, from, output(static_cast<uint32_t>(from)), 0);
  }
  return std::move(builder).finish();
}

}  // namespace wia
