// direct, for the collectives that reduce: contributions travel raw, and whoever needs a sum adds them all
// in one pass, in the order of ranks. So the result is rounded once and does not depend on how the data was
// split.
#include "algorithms/builders.hpp"
#include "algorithms/flat.hpp"
#include "algorithms/peers.hpp"

namespace wia {
namespace {

// Receives everyone's contribution to a run and adds them up.
void reduce_run(Flow& flow, Run run, Place own, Place result) {
  std::vector<Ref> sources(flow.size());
  sources[flow.me()] = own.at(run.first);
  for (int round = 1; round < flow.size(); ++round) {
    const int from = flow.member(-round);
    sources[from] = flow.recv_aside(from, run, own.format()).origin;
  }
  flow.reduce(run, result, sources);
}

}  // namespace

// Run by run, so that the first is reduced while the next arrives.
void direct_reduce_scatter(Flow& flow, const Blocks& blocks, Place own, Place result) {
  const auto mine = blocks.of(flow.me());
  for (uint32_t i = 0; i < blocks.most_runs(); ++i) {
    for (int round = 1; round < flow.size(); ++round) {
      const int to = flow.member(round);
      if (i < blocks.of(to).size()) flow.send(to, blocks.of(to)[i], own);
    }
    if (i < mine.size()) reduce_run(flow, mine[i], own, result);
  }
}

Result<Schedule> direct_reduce_scatter(const Shape& shape) {
  return flat_reduce_scatter(shape, direct_reduce_scatter);
}

Result<Schedule> direct_all_reduce(const Shape& shape) {
  Builder builder(shape);
  const Team team = whole_group(shape);
  const Lanes lanes{0, 1};
  Flow flow(builder, team, Buffer::output, lanes, 0);
  const Run everything{0, 1};
  for (int round = 1; round < shape.ranks; ++round) {
    flow.send(flow.member(round), everything, Place{input(0)});
    // The result will be written over what was sent.
    if (shape.in_place) builder.take(lanes.out);
  }
  std::vector<Ref> sources(shape.ranks);
  sources[shape.rank] = input(0);
  for (int round = 1; round < shape.ranks; ++round) {
    const int from = flow.member(-round);
    sources[from] = flow.recv_aside(from, everything, Format::raw).origin;
  }
  if (shape.in_place) flow.receives_after(lanes.out);
  flow.reduce(everything, Place{output(0)}, sources);
  return std::move(builder).finish();
}

Result<Schedule> direct_reduce(const Shape& shape) {
  Builder builder(shape);
  const Team team = whole_group(shape);
  Flow flow(builder, team, Buffer::input, {0, 1}, 0);
  if (shape.is_root()) {
    reduce_run(flow, Run{0, 1}, Place{input(0)}, Place{output(0)});
  } else {
    flow.send(shape.root, Run{0, 1}, Place{input(0)});
  }
  return std::move(builder).finish();
}

}  // namespace wia
