#include "communicator/call.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "algorithms/algorithm.hpp"

namespace wia {
namespace {

size_t sum(const size_t* counts, int ranks) {
  size_t total = 0;
  for (int r = 0; r < ranks; ++r) total += counts[r];
  return total;
}

// One past the last element that counts and offsets speak of.
size_t extent(const size_t* counts, const size_t* offsets, int ranks) {
  if (!offsets) return sum(counts, ranks);
  size_t end = 0;
  for (int r = 0; r < ranks; ++r)
    if (counts[r] > 0) end = std::max(end, offsets[r] + counts[r]);
  return end;
}

bool sends_all(Collective c) {
  return c == Collective::reduce_scatter || c == Collective::scatter || c == Collective::all_to_all;
}
bool receives_all(Collective c) {
  return c == Collective::all_gather || c == Collective::gather || c == Collective::all_to_all;
}

// Whether this rank's buffer of that name is used at all.
bool uses_send(const Call& call, int rank) {
  if (call.collective == Collective::broadcast) return false;
  return call.collective != Collective::scatter || rank == call.root;
}
bool uses_recv(const Call& call, int rank) {
  const bool rooted = call.collective == Collective::reduce || call.collective == Collective::gather;
  return !rooted || rank == call.root;
}

bool overlap(const std::byte* a, size_t a_bytes, const std::byte* b, size_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

Status check_sizes(const Call& call, int ranks) {
  const size_t most =
      std::numeric_limits<size_t>::max() / 2 / size_of(call.dtype) / static_cast<size_t>(ranks);
  const auto check_one = [&](const char* name, int index, size_t value) -> Status {
    if (value <= most) return {};
    return Status::error(Code::invalid_argument, "{}{} is {} (as a signed number {}); legal are 0 to {}",
                         name, index < 0 ? "" : fmt::format("[{}]", index), value,
                         static_cast<int64_t>(value), most);
  };
  WIA_RETURN_IF_ERROR(check_one("count", -1, call.count));
  for (int r = 0; r < ranks; ++r) {
    if (call.counts) WIA_RETURN_IF_ERROR(check_one("counts", r, call.counts[r]));
    if (call.offsets) WIA_RETURN_IF_ERROR(check_one("offsets", r, call.offsets[r]));
    if (call.recv_counts) WIA_RETURN_IF_ERROR(check_one("recv_counts", r, call.recv_counts[r]));
    if (call.recv_offsets) WIA_RETURN_IF_ERROR(check_one("recv_offsets", r, call.recv_offsets[r]));
  }
  return {};
}

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

}  // namespace

size_t send_elements(const Call& call, int rank, int ranks) {
  if (!uses_send(call, rank)) return 0;
  if (!call.counts) return call.count * (sends_all(call.collective) ? static_cast<size_t>(ranks) : 1);
  return sends_all(call.collective) ? extent(call.counts, call.offsets, ranks) : call.counts[rank];
}

size_t recv_elements(const Call& call, int rank, int ranks) {
  if (!uses_recv(call, rank)) return 0;
  if (call.recv_counts) return extent(call.recv_counts, call.recv_offsets, ranks);
  if (!call.counts) return call.count * (receives_all(call.collective) ? static_cast<size_t>(ranks) : 1);
  return receives_all(call.collective) ? extent(call.counts, call.offsets, ranks) : call.counts[rank];
}

size_t call_bytes(const Call& call, int ranks) {
  const bool blocks = sends_all(call.collective) || receives_all(call.collective);
  // all_to_all_v: ranks do not know one another's counts, so the choice must not depend on them.
  if (call.recv_counts) return 0;
  const size_t elements =
      call.counts ? sum(call.counts, ranks) : call.count * (blocks ? static_cast<size_t>(ranks) : 1);
  return elements * size_of(call.dtype);
}

bool in_place(const Call& call, int rank, int ranks) {
  const auto* send = static_cast<const std::byte*>(call.send);
  const auto* recv = static_cast<const std::byte*>(call.recv);
  const size_t element = size_of(call.dtype);
  const auto block = [&](const std::byte* base) {
    size_t begin = call.count * static_cast<size_t>(rank);
    if (call.counts) begin = call.offsets ? call.offsets[rank] : sum(call.counts, rank);
    return base + begin * element;
  };
  switch (call.collective) {
    case Collective::all_reduce:
      return send == recv;
    case Collective::broadcast:
      return true;
    case Collective::reduce:
      return rank == call.root && send == recv;
    case Collective::all_gather:
      return send == block(recv);
    case Collective::gather:
      return rank == call.root && send == block(recv);
    case Collective::reduce_scatter:
      return recv == block(send);
    case Collective::scatter:
      return rank == call.root && recv == block(send);
    case Collective::all_to_all:
      return ranks > 0 && send == recv && !call.recv_counts;
    case Collective::barrier:
      return false;
  }
  return false;
}

Status check(const Call& call, int rank, int ranks) {
  if (static_cast<int>(call.dtype) >= kNumDTypes)
    return Status::error(Code::invalid_argument, "dtype is {}; legal are 0 to {}",
                         static_cast<int>(call.dtype), kNumDTypes - 1);
  if (has_root(call.collective) && (call.root < 0 || call.root >= ranks))
    return Status::error(Code::invalid_argument, "root is {}; legal are 0 to {}", call.root, ranks - 1);
  WIA_RETURN_IF_ERROR(check_sizes(call, ranks));
  const size_t element = size_of(call.dtype);
  const size_t send_bytes = send_elements(call, rank, ranks) * element,
               recv_bytes = recv_elements(call, rank, ranks) * element;
  if (send_bytes > 0 && !call.send)
    return Status::error(Code::invalid_argument, "send is NULL with {} bytes to send", send_bytes);
  if (recv_bytes > 0 && !call.recv)
    return Status::error(Code::invalid_argument, "{} is NULL with {} bytes to receive",
                         call.collective == Collective::broadcast ? "buffer" : "recv", recv_bytes);
  const auto* send = static_cast<const std::byte*>(call.send);
  const auto* recv = static_cast<const std::byte*>(call.recv);
  if (!in_place(call, rank, ranks) && overlap(send, send_bytes, recv, recv_bytes))
    return Status::error(
        Code::invalid_argument,
        "send [{}, +{}) and recv [{}, +{}) overlap in a way that is not one of {}'s in-place forms",
        call.send, send_bytes, call.recv, recv_bytes, name_of(call.collective));
  return {};
}

CallSignature sign(const Call& call, const Tactic& tactic, int ranks) {
  const Algorithm& algorithm = *tactic.algorithm;
  CallSignature s;
  s.count = call.counts && !call.recv_counts ? sum(call.counts, ranks) : call.count;
  s.root = call.root;
  s.collective = static_cast<uint8_t>(call.collective);
  s.dtype = static_cast<uint8_t>(call.dtype);
  s.op = static_cast<uint8_t>(call.op);
  s.algorithm = static_cast<uint8_t>((algorithm.row ? algorithm.row : &algorithm) - all_algorithms().data());
  if (algorithm.row) s.algorithm |= kNamedLevels;
  uint64_t hash = mix(0x5851f42d4c957f2d, s.count);
  hash = mix(hash, uint64_t{static_cast<uint32_t>(s.root)} << 32 | uint64_t{s.collective} << 24 |
                       uint64_t{s.dtype} << 16 | uint64_t{s.op} << 8 | s.algorithm);
  if (tactic.slice_bytes > 0) hash = mix(hash, tactic.slice_bytes);
  for (int l = 0; algorithm.row && l < algorithm.levels.count; ++l)
    hash = mix(hash, static_cast<uint64_t>(algorithm.levels.named[static_cast<size_t>(l)]) + 1);
  if (call.counts && !call.recv_counts)
    for (int r = 0; r < ranks; ++r) hash = mix(hash, call.counts[r]);
  s.content = static_cast<uint32_t>(hash >> 32);
  return s;
}

void resign(uint64_t sequence, CallSignature* signature) {
  signature->sequence = sequence;
  signature->hash = static_cast<uint32_t>(mix(sequence, signature->content) >> 32);
}

std::string describe(const CallSignature& s) {
  const auto collective = static_cast<Collective>(s.collective);
  std::string text = fmt::format("call {}: {}", s.sequence, name_of(collective));
  if (collective == Collective::barrier) return text;
  text += fmt::format(" of {} {}", s.count, name_of(static_cast<DType>(s.dtype)));
  if (reduces(collective)) text += fmt::format(", {}", name_of(static_cast<Op>(s.op)));
  if (has_root(collective)) text += fmt::format(", root {}", s.root);
  const size_t row = s.algorithm & ~kNamedLevels;
  if (row < all_algorithms().size())
    text += fmt::format(", algorithm {}{}", all_algorithms()[row].name,
                        s.algorithm & kNamedLevels ? " with levels that were named" : "");
  return text;
}

}  // namespace wia
