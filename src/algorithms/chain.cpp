// chain: a broadcast or reduce that passes through all members one after the other, the root at one end.
//
// Slices follow each other closely, as in a pipeline: for large data, time is that of sending the data once,
// however many members there are. Every link carries the data once.
#include "algorithms/builders.hpp"
#include "algorithms/peers.hpp"
#include "algorithms/phases.hpp"

namespace wia {

void chain_broadcast(Flow& flow, int root, Run run, Place from, Place to) {
  const int behind_root = around(flow.me() - root, flow.size());
  if (behind_root > 0) flow.recv(flow.member(-1), run, to);
  if (behind_root < flow.size() - 1) flow.forward(flow.member(1), run, behind_root == 0 ? from : to);
}

// From the member before the root, counted around, to the root.
void chain_reduce(Flow& flow, int root, uint32_t chunk, Place own, Place result) {
  const Run run{chunk, 1};
  const int hops_to_root = around(flow.me() - root, flow.size());
  const int last = flow.size() - 1;
  const Format arriving = hops_to_root + 1 == last ? own.format() : Format::partial;
  if (last == 0) {
    flow.reduce(run, result, std::vector<Ref>{own.at(chunk)});
  } else if (hops_to_root == last) {
    flow.forward(flow.member(-1), run, own);
  } else if (hops_to_root == 0) {
    flow.recv_reduce(flow.member(1), run, result, own, arriving);
  } else {
    const Place sum = flow.sums_of(own, run);
    flow.recv_reduce(flow.member(1), run, sum, own, arriving);
    flow.forward(flow.member(-1), run, sum);
  }
}

Result<Schedule> chain_broadcast(const Shape& shape) {
  Builder builder(shape);
  const Team team = whole_group(shape);
  Flow flow(builder, team, Buffer::output, {0, 0}, 0);
  chain_broadcast(flow, shape.root, Run{0, 1}, Place{input(0)}, Place{output(0)});
  return std::move(builder).finish();
}

Result<Schedule> chain_reduce(const Shape& shape) {
  Builder builder(shape);
  const Team team = whole_group(shape);
  Flow flow(builder, team, Buffer::input, {0, 0}, 0);
  chain_reduce(flow, shape.root, 0, Place{input(0)}, Place{output(0)});
  return std::move(builder).finish();
}

}  // namespace wia
