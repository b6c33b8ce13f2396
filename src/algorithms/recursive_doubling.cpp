// recursive_doubling: all_reduce in log2 n rounds of all the data. The members are the corners of a cube;
// in each round partners across one dimension swap their sums and add them, so that the sum of twice as
// many is in both.
//
// The least rounds, for the smallest data. Partners add the same two sums, so all results have the same
// bits. Where the number of members is no power of two, each extra member gives its contribution to a
// neighbour before, and gets the result from it afterwards (folding).
#include "algorithms/builders.hpp"
#include "algorithms/peers.hpp"
#include "algorithms/phases.hpp"

namespace wia {

// Every round's sum has scratch of its own: the partner may still be reading the one before.
void recursive_doubling_all_reduce(Flow& flow, Run run, Place own, Place result, bool in_place) {
  const int me = flow.me();
  const Folding folding(flow.size());
  if (flow.size() == 1) {
    flow.reduce(run, result, std::vector<Ref>{own.at(run.first)});
    return;
  }
  if (folding.is_extra(me)) {
    flow.send(me - 1, run, own);
    flow.recv(me - 1, run, result);
    return;
  }
  const int corner = folding.corner_of(me);
  Place here = own;
  if (folding.has_extra(me)) {
    here = flow.partials(run);
    flow.recv_reduce(me + 1, run, here, own, own.format());
  }
  for (int bit = 1; bit < folding.core(); bit *= 2) {
    const int partner = folding.member_at(corner ^ bit);
    const bool partner_sent_sum = bit > 1 || folding.has_extra(partner);
    const bool last = bit * 2 == folding.core();
    if (here != own) flow.sends_after_received();
    flow.send(partner, run, here);
    // What goes out raw is overwritten by the result.
    if (in_place && here == own) flow.builder().take(flow.lanes().out);
    if (in_place && last) flow.receives_after(flow.lanes().out);
    const Place sum = last ? result : flow.partials(run);
    flow.recv_reduce(partner, run, sum, here, partner_sent_sum ? Format::partial : own.format());
    here = sum;
  }
  if (folding.has_extra(me)) flow.forward(me + 1, run, result);
}

Result<Schedule> recursive_doubling_all_reduce(const Shape& shape) {
  Builder builder(shape);
  const Team team = whole_group(shape);
  Flow flow(builder, team, Buffer::output, {0, 1}, 0);
  recursive_doubling_all_reduce(flow, Run{0, 1}, Place{input(0)}, Place{output(0)}, shape.in_place);
  return std::move(builder).finish();
}

}  // namespace wia
