// Small algorithms to verify, right ones and wrong ones.
#pragma once
#include <vector>

#include "algorithms/algorithm.hpp"

namespace wia::examples {

inline uint32_t chunk(int c) { return static_cast<uint32_t>(c); }
inline int next(const Shape& shape) { return (shape.rank + 1) % shape.ranks; }
inline int previous(const Shape& shape) { return (shape.rank + shape.ranks - 1) % shape.ranks; }

// Everyone sends everything to everyone, adds up in the order of ranks.
inline Result<Schedule> flat_all_reduce(const Shape& shape) {
  Builder builder(shape);
  const uint32_t place = builder.allocate_scratch(chunk(shape.ranks));
  std::vector<Ref> sources;
  for (int peer = 0; peer < shape.ranks; ++peer)
    if (peer != shape.rank) {
      builder.send(0, peer, input(0), 0);
      builder.take(0);
    }
  for (int peer = 0; peer < shape.ranks; ++peer) {
    if (peer == shape.rank) {
      sources.push_back(input(0));
      continue;
    }
    const Ref from_peer = scratch(place + chunk(peer));
    builder.recv(0, peer, from_peer, 0, 1, output(0));
    sources.push_back(from_peer);
  }
  builder.reduce(0, output(0), sources, output(0));
  return std::move(builder).finish();
}

// Chunk by chunk around the ring, twice: sums, then results.
inline Result<Schedule> ring_all_reduce(const Shape& shape) {
  const int p = shape.ranks;
  Builder builder(shape, chunk(p));
  const auto at = [&](int back) { return chunk(((shape.rank - back) % p + p) % p); };
  if (p == 1) {
    builder.copy(0, output(0), input(0), 1, input(0));
    return std::move(builder).finish();
  }
  const uint32_t sums = builder.allocate_scratch(chunk(p));
  builder.send(0, next(shape), input(at(0)), 0);
  builder.take(0);
  for (int i = 1; i < p; ++i) {
    const uint32_t c = at(i);
    const bool last = i == p - 1;
    const Ref sum = last ? output(c) : partial(sums + c);
    builder.recv_reduce(0, previous(shape), sum, input(c), i - 1, 1, output(c),
                        i == 1 ? Format::raw : Format::partial);
    builder.send(0, next(shape), sum, i, 1, output(c));
    if (last) builder.take(0);
  }
  for (int i = 0; i < p - 1; ++i) {
    const uint32_t c = at(i);
    builder.recv(0, previous(shape), output(c), p - 1 + i);
    if (i < p - 2) builder.send(0, next(shape), output(c), p + i);
  }
  return std::move(builder).finish();
}

// The root sends to each.
inline Result<Schedule> flat_broadcast(const Shape& shape) {
  Builder builder(shape);
  if (!shape.is_root()) builder.recv(0, shape.root, output(0), 0);
  for (int peer = 0; shape.is_root() && peer < shape.ranks; ++peer)
    if (peer != shape.root) builder.send(0, peer, output(0), 0);
  return std::move(builder).finish();
}

// Each pair on a lane of its own.
inline Result<Schedule> direct_all_gather(const Shape& shape) {
  Builder builder(shape);
  const Ref mine = output(chunk(shape.rank));
  if (!shape.in_place) builder.copy(0, mine, input(0), 1, mine);
  for (int i = 1; i < shape.ranks; ++i) {
    const int to = (shape.rank + i) % shape.ranks, from = (shape.rank + shape.ranks - i) % shape.ranks;
    builder.send(2 * i - 1, to, input(0), 0, 1, mine);
    builder.recv(2 * i, from, output(chunk(from)), 0);
  }
  return std::move(builder).finish();
}

// Messages without data to all, from all.
inline Result<Schedule> flat_barrier(const Shape& shape) {
  Builder builder(shape);
  for (int peer = 0; peer < shape.ranks; ++peer)
    if (peer != shape.rank) builder.send(0, peer, input(0), 0, 0);
  for (int peer = 0; peer < shape.ranks; ++peer)
    if (peer != shape.rank) builder.recv(0, peer, output(0), 0, 0);
  return std::move(builder).finish();
}

inline constexpr Algorithm kFlatAllReduce{Collective::all_reduce, "flat", "", true, false, flat_all_reduce};
inline constexpr Algorithm kRingAllReduce{Collective::all_reduce, "ring", "", false, false, ring_all_reduce};
inline constexpr Algorithm kFlatBroadcast{Collective::broadcast, "flat", "", true, false, flat_broadcast};
inline constexpr Algorithm kDirectAllGather{Collective::all_gather, "direct", "", true, true,
                                            direct_all_gather};
inline constexpr Algorithm kFlatBarrier{Collective::barrier, "flat", "", true, false, flat_barrier};

}  // namespace wia::examples
