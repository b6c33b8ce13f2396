// two_phase: each chunk has an owner who deals with it alone; two rounds in which everybody sends to
// everybody.
//
//   all_reduce  Every rank sends chunk c of its input to rank c, who adds the contributions in one pass, in
//               the order of ranks, and sends the sum to all. Where memory is shared, the sum is written
//               into every rank's output while it is computed.
//   broadcast   The root scatters chunks over the other ranks, who send theirs to each other (scatter and
//               all_gather: van de Geijn, "On global combine operations", 1994). Each link of the root
//               carries little.
//   reduce      As all_reduce, but the sums go to the root only (reduce_scatter and gather).
#include "algorithms/builders.hpp"
#include "algorithms/flat.hpp"
#include "algorithms/peers.hpp"

namespace wia {

// The owner's sends follow its reduction in the same lane, so that the engine does them in one pass.
const Composition kDirectPhases = {direct_reduce_scatter, direct_all_gather,
                                   [](int) { return Streams::two; }};

Result<Schedule> two_phase_all_reduce(const Shape& shape) { return flat_all_reduce(shape, kDirectPhases); }

// Chunk i is relayed by the rank i + 1 behind the root. The root needs nothing, so it relays nothing.
Result<Schedule> two_phase_broadcast(const Shape& shape) {
  constexpr int kFromRoot = 0, kFromRelays = 1;  // lanes, and tags
  const int relays = shape.ranks - 1;
  Builder builder(shape, static_cast<uint32_t>(std::max(relays, 1)));
  const auto relay = [&](int i) { return around(shape.root + 1 + i, shape.ranks); };
  if (shape.is_root()) {
    for (int i = 0; i < relays; ++i) {
      builder.send(kFromRoot, relay(i), input(static_cast<uint32_t>(i)), kFromRoot);
    }
    return std::move(builder).finish();
  }
  const int me = around(shape.rank - shape.root - 1, shape.ranks);
  const Ref mine = output(static_cast<uint32_t>(me));
  builder.recv(kFromRoot, shape.root, mine, kFromRoot);
  for (int round = 1; round < relays; ++round) {
    const int from = around(me - round, relays);
    builder.send(kFromRoot, relay(around(me + round, relays)), mine, kFromRelays);
    builder.recv(kFromRelays, relay(from), output(static_cast<uint32_t>(from)), kFromRelays);
  }
  return std::move(builder).finish();
}

Result<Schedule> two_phase_reduce(const Shape& shape) {
  constexpr Lanes kReducing{0, 1}, kGathering{2, 3};
  Builder builder(shape, static_cast<uint32_t>(shape.ranks));
  const Team team = whole_group(shape);
  const auto rank = static_cast<uint32_t>(shape.rank);
  const Place sum = shape.is_root() ? Place{output(0)} : Place{scratch(builder.allocate_scratch(1)), rank};

  Flow reducing(builder, team, Buffer::input, kReducing, 0);
  direct_reduce_scatter(reducing, Blocks::one_each(shape.ranks), Place{input(0)}, sum);

  Flow gathering(builder, team, Buffer::input, kGathering, shape.ranks);
  if (!shape.is_root()) {
    gathering.continue_in(kReducing.in);
    gathering.send_own(shape.root, Run{rank, 1}, sum);
    return std::move(builder).finish();
  }
  for (int round = 1; round < shape.ranks; ++round) {
    const int from = gathering.member(-round);
    gathering.recv(from, Run{static_cast<uint32_t>(from), 1}, Place{output(0)});
  }
  return std::move(builder).finish();
}

}  // namespace wia
