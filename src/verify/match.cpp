#include "verify/match.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "verify/random.hpp"

namespace wia {
namespace {

struct End {
  int peer;
  uint16_t tag;
  bool lands;  // send: of a reduction, from the output
  const Step* step;
  bool operator<(const End& other) const { return peer != other.peer ? peer < other.peer : tag < other.tag; }
};

// The sends and the receives of one rank, each in the order of (peer, tag).
struct Ends {
  std::vector<End> sends, receives;

  explicit Ends(const Schedule& schedule) {
    for (int l = 0; l < schedule.lanes(); ++l) add(schedule.lane(l));
    std::sort(sends.begin(), sends.end());
    std::sort(receives.begin(), receives.end());
  }
  void add(std::span<const Step> lane) {
    int landing = 0;  // so many sends that follow are done by the reduction before them
    for (const Step& step : lane) {
      const bool reduction = step.kind == Kind::reduce || step.kind == Kind::recv_reduce;
      if (step.kind == Kind::send) {
        sends.push_back({step.peer, step.tag, landing > 0, &step});
        landing = std::max(0, landing - 1);
      } else {
        landing = reduction && step.dst.buffer() == Buffer::output ? step.fused : 0;
      }
      if (step.kind == Kind::recv || step.kind == Kind::recv_reduce)
        receives.push_back({step.peer, step.tag, false, &step});
    }
  }
};

bool arrives_partial(const Step& receive) {
  return receive.kind == Kind::recv ? receive.dst.partial() : (receive.flags & kPartialArrives) != 0;
}

Status mismatch(int from, const End& send, const char* what) {
  return Status::error(Code::protocol, "the message from rank {} to rank {} with tag {} {}", from, send.peer, send.tag, what);
}

Status check_pair(int from, const End& send, const Step& receive) {
  if (send.step->chunks != receive.chunks) return mismatch(from, send, "has other chunks on both ends");
  if (receive.chunks == 0) return {};
  if (send.step->src.partial() != arrives_partial(receive))
    return mismatch(from, send, "is a partial sum on one end and raw on the other");
  if (send.lands && (receive.kind != Kind::recv || receive.dst != send.step->src))
    return mismatch(from, send, "comes from a reduction into the output and does not go to the same chunk there");
  return {};
}

}  // namespace

Status check_match(std::span<const Schedule> schedules) {
  const auto ranks = static_cast<int>(schedules.size());
  // Receives by receiver. Senders come in ascending order, and so does each receiver's list.
  std::vector<Ends> ends;
  ends.reserve(schedules.size());
  for (const Schedule& schedule : schedules) ends.emplace_back(schedule);
  std::vector<size_t> next(schedules.size(), 0);
  for (int from = 0; from < ranks; ++from) {
    const Schedule& schedule = schedules[static_cast<size_t>(from)];
    if (schedule.input_chunks() != schedules[0].input_chunks() || schedule.output_chunks() != schedules[0].output_chunks())
      return Status::error(Code::protocol, "ranks 0 and {} divide their buffers differently", from);
    for (const End& send : ends[static_cast<size_t>(from)].sends) {
      const auto& receives = ends[static_cast<size_t>(send.peer)].receives;
      size_t& at = next[static_cast<size_t>(send.peer)];
      if (at == receives.size() || receives[at].peer > from || (receives[at].peer == from && receives[at].tag > send.tag))
        return mismatch(from, send, "is not received");
      if (receives[at].peer < from || receives[at].tag < send.tag)
        return mismatch(receives[at].peer, {send.peer, receives[at].tag, false, nullptr}, "is not sent");
      WIA_RETURN_IF_ERROR(check_pair(from, send, *receives[at++].step));
    }
  }
  for (int to = 0; to < ranks; ++to) {
    const auto& receives = ends[static_cast<size_t>(to)].receives;
    const size_t at = next[static_cast<size_t>(to)];
    if (at < receives.size()) return mismatch(receives[at].peer, {to, receives[at].tag, false, nullptr}, "is not sent");
  }
  return {};
}

uint64_t fingerprint(std::span<const Schedule> schedules) {
  uint64_t print = 0;
  const auto add = [&](uint64_t word) { print = (print ^ word) * 0x9e3779b97f4a7c15 ^ print >> 29; };
  for (const Schedule& schedule : schedules) {
    add(uint64_t{schedule.input_chunks()} << 32 | schedule.output_chunks());
    add(schedule.scratch_chunks());
    for (int l = 0; l < schedule.lanes(); ++l) {
      add(schedule.lane(l).size());
      for (const Step& step : schedule.lane(l)) {
        uint64_t words[sizeof(Step) / 8];
        std::memcpy(words, &step, sizeof(Step));
        for (const uint64_t word : words) add(word);
        if (step.kind != Kind::reduce) continue;
        for (const Ref source : schedule.sources_of(step))
          add(uint64_t{static_cast<uint32_t>(source.buffer())} << 33 | uint64_t{source.partial()} << 32 | source.chunk());
      }
    }
    print = mix(print);
  }
  return print;
}

}  // namespace wia
