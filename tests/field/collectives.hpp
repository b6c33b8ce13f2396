// One collective call with distinct data, checked element by element on every rank. Used inside ranks.
#pragma once
#include "algorithms/algorithm.hpp"
#include "field/data.hpp"

namespace wia::field {

struct Case {
  Collective collective;
  size_t count;           // as the call takes it
  int root = 0;           // where the collective has one
  bool shared = false;    // memory of wia_alloc
  bool in_place = false;  // in the collective's own form
  size_t shift = 0;       // bytes off alignment
};

inline bool sends_blocks(Collective c) {
  return c == Collective::reduce_scatter || c == Collective::scatter || c == Collective::all_to_all;
}
inline bool receives_blocks(Collective c) {
  return c == Collective::all_gather || c == Collective::gather || c == Collective::all_to_all;
}
// Whether `rank` uses its receive buffer.
inline bool receives(const Case& c, int rank) {
  return (c.collective != Collective::reduce && c.collective != Collective::gather) || rank == c.root;
}
inline bool has_in_place_form(const Case& c, int rank) {
  if (c.collective == Collective::broadcast || c.collective == Collective::barrier) return false;
  return !has_root(c.collective) || rank == c.root;
}

// What element i of the result is.
inline int64_t expected(const Case& c, int rank, int ranks, size_t i) {
  const size_t mine = static_cast<size_t>(rank) * c.count;
  switch (c.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      return sum(ranks, i);
    case Collective::reduce_scatter:
      return sum(ranks, mine + i);
    case Collective::broadcast:
      return value(c.root, i);
    case Collective::scatter:
      return value(c.root, mine + i);
    case Collective::all_to_all:
      return value(static_cast<int>(i / c.count), mine + i % c.count);
    default:
      return value(static_cast<int>(i / c.count), i % c.count);
  }
}

inline wia_status_t call(const Case& c, const void* send, void* recv, wia_dtype_t dtype,
                         wia_communicator_t* w, wia_request_t** request = nullptr) {
  switch (c.collective) {
    case Collective::all_reduce:
      return wia_all_reduce(send, recv, c.count, dtype, WIA_OP_SUM, w, request);
    case Collective::reduce:
      return wia_reduce(send, recv, c.count, dtype, WIA_OP_SUM, c.root, w, request);
    case Collective::reduce_scatter:
      return wia_reduce_scatter_block(send, recv, c.count, dtype, WIA_OP_SUM, w, request);
    case Collective::broadcast:
      return wia_broadcast_buffer(recv, c.count, dtype, c.root, w, request);
    case Collective::all_gather:
      return wia_all_gather(send, recv, c.count, dtype, w, request);
    case Collective::gather:
      return wia_gather(send, recv, c.count, dtype, c.root, w, request);
    case Collective::scatter:
      return wia_scatter(send, recv, c.count, dtype, c.root, w, request);
    case Collective::all_to_all:
      return wia_all_to_all(send, recv, c.count, dtype, w, request);
    case Collective::barrier:
      return wia_barrier_async(w, request);
  }
  return WIA_ERROR_UNSUPPORTED;
}

// Says which case it was when a check fails. Sums stay below 2^24, so float32 is exact, too.
template <class T = int64_t>
int check_case(wia_communicator_t* w, const Case& c, wia_dtype_t dtype = WIA_INT64) {
  const int ranks = wia_size(w), me = wia_rank(w);
  if (c.collective == Collective::barrier) {
    WIA_OK(wia_barrier(w));
    return 0;
  }
  const size_t all = c.count * static_cast<size_t>(ranks), mine = c.count * static_cast<size_t>(me);
  const size_t sent = sends_blocks(c.collective) ? all : c.count;
  const size_t received = receives_blocks(c.collective) ? all : c.count;
  const bool in_place = c.in_place && has_in_place_form(c, me);
  Buffer<T> in(sent, c.shared, c.shift), out(received, c.shared, c.shift);
  in.fill(me);
  out.fill(me + 17);  // nothing that could be taken for a result
  const void* send = in.bytes();
  void* recv = out.bytes();
  size_t first = 0;  // of the result within the buffer that it is in
  Buffer<T>* result = &out;
  if (in_place && receives_blocks(c.collective) && c.collective != Collective::all_to_all) {
    send = out.bytes() + mine * sizeof(T);
    std::memmove(out.bytes() + mine * sizeof(T), in.bytes(), c.count * sizeof(T));
  } else if (in_place) {
    result = &in;
    if (sends_blocks(c.collective) && c.collective != Collective::all_to_all) first = mine;
    recv = in.bytes() + first * sizeof(T);
  } else if (c.collective == Collective::broadcast && me == c.root) {
    out.fill(me);
  }
  const auto check = [&] {
    WIA_OK(call(c, send, recv, dtype, w));
    for (size_t i = 0; i < received && receives(c, me); ++i)
      WIA_CHECK(result->get(first + i) == static_cast<T>(expected(c, me, ranks, i)));
    for (size_t i = 0; i < sent && !in_place; ++i)
      WIA_CHECK(in.get(i) == static_cast<T>(value(me, i)));  // only read
    WIA_CHECK(in.intact() && out.intact());
    return 0;
  };
  if (check() == 0) return 0;
  std::fprintf(stderr, "in %s of %zu on rank %d of %d, root %d, %s memory%s, shifted by %zu\n",
               std::string(name_of(c.collective)).c_str(), c.count, me, ranks, c.root,
               c.shared ? "shared" : "ordinary", c.in_place ? ", in place" : "", c.shift);
  return 1;
}

// The case for every root, where there are roots.
template <class T = int64_t>
int check_roots(wia_communicator_t* w, Case c, wia_dtype_t dtype = WIA_INT64) {
  for (c.root = 0; c.root < (has_root(c.collective) ? wia_size(w) : 1); ++c.root)
    WIA_RUN(check_case<T>(w, c, dtype));
  return 0;
}

inline int use(wia_communicator_t* w, const Algorithm& algorithm) {
  const std::string collective(name_of(algorithm.collective));
  WIA_OK(wia_communicator_set_algorithm(w, collective.c_str(), algorithm.name));
  return 0;
}

}  // namespace wia::field
