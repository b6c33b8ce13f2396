#include "algorithms/flat.hpp"

namespace wia {

Place own_block(const Shape& shape) {
  const auto rank = static_cast<uint32_t>(shape.rank);
  return shape.in_place ? Place{output(0)} : Place{input(0), rank};
}

void sum_of_one(Flow& flow, const Blocks& blocks, Place own, Place result) {
  blocks.for_each_run(0, 1, [&](Run run) { flow.reduce(run, result, std::vector<Ref>{own.at(run.first)}); });
}

Result<Schedule> flat_reduce_scatter(const Shape& shape, ReduceScatter reduce_scatter) {
  Builder builder(shape);
  const Team team = whole_group(shape);
  Flow flow(builder, team, Buffer::input, {0, 1}, 0);
  reduce_scatter(flow, Blocks::one_each(shape.ranks), Place{input(0)},
                 Place{output(0), static_cast<uint32_t>(shape.rank)});
  return std::move(builder).finish();
}

Result<Schedule> flat_all_gather(const Shape& shape, AllGather all_gather) {
  Builder builder(shape);
  const Team team = whole_group(shape);
  Flow flow(builder, team, Buffer::output, {0, 1}, 0);
  all_gather(flow, Blocks::one_each(shape.ranks), own_block(shape), Place{output(0)});
  return std::move(builder).finish();
}

Result<Schedule> flat_all_reduce(const Shape& shape, const Composition& composition) {
  Builder builder(shape, static_cast<uint32_t>(shape.ranks));
  const Team team = whole_group(shape);
  const Blocks blocks = Blocks::one_each(shape.ranks);
  const Streams streams = composition.streams(shape.ranks);
  const Lanes reducing = streams == Streams::one_lane ? Lanes{0, 0} : Lanes{0, 1};
  const Lanes gathering = streams == Streams::two ? Lanes{2, 3} : reducing;

  Flow reduce_flow(builder, team, Buffer::output, reducing, 0);
  composition.reduce_scatter(reduce_flow, blocks, Place{input(0)}, Place{output(0)});

  Flow gather_flow(builder, team, Buffer::output, gathering, shape.ranks);
  if (streams == Streams::two)
    gather_flow.continue_in(reducing.in);  // the own sum leaves from where it is made
  gather_flow.sends_after(reducing.out);
  gather_flow.sends_after(reducing.in);
  composition.all_gather(gather_flow, blocks, Place{output(0)}, Place{output(0)});
  return std::move(builder).finish();
}

}  // namespace wia
