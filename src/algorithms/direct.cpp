// direct: everybody sends to everybody who needs it, in one round.
//
// The least latency where messages are cheap, as between ranks that share memory: no data passes through a
// third rank. To spread the load, rank r sends to r+1, r+2, ... counted around the end, and receives in the
// order r-1, r-2, ..., so that in each round everyone sends to one rank and receives from one. (In
// all_to_all these two are the same.)
//
// The collectives that reduce are in direct_reductions.cpp.
#include "algorithms/builders.hpp"
#include "algorithms/flat.hpp"
#include "algorithms/peers.hpp"

namespace wia {
namespace {

constexpr int kSending = 0, kReceiving = 1;

}  // namespace

// The sends of one run stand together: one group.
void share_directly(Flow& flow, const Blocks& blocks, Place own, Place all, const Sharing& sharing) {
  for (const Run run : blocks.of(flow.me())) {
    if (sharing.arrivals) flow.sends_after(sharing.arrivals->lane(), sharing.arrivals->position_of(run));
    for (int round = 1; round < flow.size(); ++round) {
      if (const int to = flow.member(round); to != sharing.complete) flow.send_own(to, run, own);
    }
  }
  if (flow.me() == sharing.complete) return;
  for (uint32_t i = 0; i < blocks.most_runs(); ++i) {
    for (int round = 1; round < flow.size(); ++round) {
      const int from = flow.member(-round);
      if (i < blocks.of(from).size()) flow.recv(from, blocks.of(from)[i], all);
    }
  }
}

void direct_all_gather(Flow& flow, const Blocks& blocks, Place own, Place all) {
  for (const Run run : blocks.of(flow.me())) flow.copy(run, all, own);
  share_directly(flow, blocks, own, all);
}

Result<Schedule> direct_all_gather(const Shape& shape) { return flat_all_gather(shape, direct_all_gather); }

Result<Schedule> direct_broadcast(const Shape& shape) {
  Builder builder(shape);
  if (!shape.is_root()) {
    builder.recv(kReceiving, shape.root, output(0), 0);
    return std::move(builder).finish();
  }
  for (int round = 1; round < shape.ranks; ++round) {
    builder.send(kSending, around(shape.rank + round, shape.ranks), input(0), 0);
  }
  return std::move(builder).finish();
}

Result<Schedule> direct_gather(const Shape& shape) {
  Builder builder(shape);
  const auto rank = static_cast<uint32_t>(shape.rank);
  if (!shape.is_root()) {
    builder.send(kSending, shape.root, input(0), 0);
    return std::move(builder).finish();
  }
  if (!shape.in_place) builder.copy(kReceiving, output(rank), input(0), 1, input(0));
  for (int round = 1; round < shape.ranks; ++round) {
    const int from = around(shape.rank - round, shape.ranks);
    builder.recv(kReceiving, from, output(static_cast<uint32_t>(from)), 0);
  }
  return std::move(builder).finish();
}

Result<Schedule> direct_scatter(const Shape& shape) {
  Builder builder(shape);
  const auto rank = static_cast<uint32_t>(shape.rank);
  if (!shape.is_root()) {
    builder.recv(kReceiving, shape.root, output(0), 0);
    return std::move(builder).finish();
  }
  for (int round = 1; round < shape.ranks; ++round) {
    const int to = around(shape.rank + round, shape.ranks);
    builder.send(kSending, to, input(static_cast<uint32_t>(to)), 0);
  }
  if (!shape.in_place) builder.copy(kReceiving, output(0), input(rank), 1, output(0));
  return std::move(builder).finish();
}

// Pairs meet, in the same order on both sides. In place, what arrives from a peer overwrites what goes to it:
// so it is taken out of the buffer before the other's is let in. Whoever is in place, the earliest meeting
// that is not over can always go on.
Result<Schedule> direct_all_to_all(const Shape& shape) {
  Builder builder(shape);
  for (int meeting = 0; meeting < shape.ranks; ++meeting) {
    const int peer = meeting_partner(shape.rank, meeting, shape.ranks);
    const auto chunk = static_cast<uint32_t>(peer);
    if (peer == shape.rank) {
      if (!shape.in_place) builder.copy(kReceiving, output(chunk), input(chunk), 1, input(chunk));
      continue;
    }
    builder.send(kSending, peer, input(chunk), 0);
    if (shape.in_place) {
      builder.take(kSending);
      builder.wait(kReceiving, kSending, builder.position(kSending));
    }
    builder.recv(kReceiving, peer, output(chunk), 0);
  }
  return std::move(builder).finish();
}

void direct_barrier(Builder& builder, const Team& team, int lane, int tag) {
  const int n = team.size();
  for (int round = 1; round < n; ++round)
    builder.send(lane, team.ranks[around(team.me + round, n)], Ref(), tag, 0);
  for (int round = 1; round < n; ++round)
    builder.recv(lane, team.ranks[around(team.me - round, n)], Ref(), tag, 0);
}

Result<Schedule> direct_barrier(const Shape& shape) {
  Builder builder(shape);
  direct_barrier(builder, whole_group(shape), 0, 0);
  return std::move(builder).finish();
}

}  // namespace wia
