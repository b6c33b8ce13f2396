#include "verify/match.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>
#include <vector>

#include "base/sort_runs.hpp"
#include "verify/random.hpp"

namespace wia {
namespace {

// A send or a receive: in the order of peers, then of tags.
class End {
 public:
  End(const Step& step, size_t index)
      : bits_(uint64_t{static_cast<uint32_t>(step.peer)} << 40 | uint64_t{step.tag} << 24 | index) {}
  int peer() const { return static_cast<int>(bits_ >> 40); }
  int tag() const { return static_cast<int>(bits_ >> 24 & 0xffff); }
  size_t index() const { return bits_ & 0xffffff; }
  bool operator<(const End& other) const { return bits_ < other.bits_; }

 private:
  uint64_t bits_;
};

// The messages of one rank, as far as they go to ranks of the sample.
class Ends {
 public:
  Ends(const Schedule& schedule, int rank, MatchSample sample)
      : sample_(sample), receives_too_(sample.has(rank)) {
    if (receives_too_) steps_.reserve(schedule.num_steps());
    for (int l = 0; l < schedule.lanes(); ++l) add(schedule.lane(l));
    sort_runs(sends_);
    sort_runs(receives_);
  }
  const std::vector<End>& sends() const { return sends_; }
  const std::vector<End>& receives() const { return receives_; }
  const Step& step(End end) const { return *steps_[end.index()].step; }
  // Whether the send is of a reduction into the output, which may write to the peer's output at once.
  bool lands(End send) const { return steps_[send.index()].lands; }

 private:
  void add(std::span<const Step> lane) {
    int landing = 0;  // so many sends that follow are done by the reduction before them
    for (const Step& step : lane) {
      const bool reduction = step.kind == Kind::reduce || step.kind == Kind::recv_reduce;
      if (step.kind == Kind::send) {
        if (sample_.has(step.peer)) add(step, landing > 0, sends_);
        landing = std::max(0, landing - 1);
      } else {
        if (step.peer >= 0 && receives_too_) add(step, false, receives_);
        landing = reduction && step.dst.buffer() == Buffer::output ? step.fused : 0;
      }
    }
  }
  void add(const Step& step, bool lands, std::vector<End>& ends) {
    ends.emplace_back(step, steps_.size());
    steps_.push_back({&step, lands});
  }

  struct Entry {
    const Step* step;
    bool lands;
  };
  const MatchSample sample_;
  const bool receives_too_;
  std::vector<Entry> steps_;
  std::vector<End> sends_, receives_;
};

bool arrives_partial(const Step& receive) {
  return receive.kind == Kind::recv ? receive.dst.partial() : (receive.flags & kPartialArrives) != 0;
}

Status mismatch(int from, int to, int tag, const char* what) {
  return Status::error(Code::protocol, "the message from rank {} to rank {} with tag {} {}", from, to, tag,
                       what);
}

// `what` is wrong with a send and its receive; null: nothing.
const char* wrong_with(const Step& send, bool lands, const Step& receive) {
  if (send.chunks != receive.chunks) return "has other chunks on both ends";
  if (receive.chunks == 0) return nullptr;
  if (send.src.partial() != arrives_partial(receive))
    return "is a partial sum on one end and raw on the other";
  if (lands && (receive.kind != Kind::recv || receive.dst != send.src))
    return "comes from a reduction into the output and does not go to the same chunk there";
  return nullptr;
}

// Goes through senders in ascending order, so that each receiver's list is gone through in its order.
class Matcher {
 public:
  Matcher(std::span<const Schedule> schedules, MatchSample sample) : next_(schedules.size(), 0) {
    ends_.reserve(schedules.size());
    for (const Schedule& schedule : schedules)
      ends_.emplace_back(schedule, static_cast<int>(ends_.size()), sample);
  }

  Status all() {
    const auto ranks = static_cast<int>(ends_.size());
    for (int from = 0; from < ranks; ++from)
      for (const End send : ends_[static_cast<size_t>(from)].sends()) WIA_RETURN_IF_ERROR(match(from, send));
    for (int to = 0; to < ranks; ++to) {
      const auto& receives = ends_[static_cast<size_t>(to)].receives();
      const size_t next = next_[static_cast<size_t>(to)];
      if (next < receives.size())
        return mismatch(receives[next].peer(), to, receives[next].tag(), "is not sent");
    }
    return {};
  }

 private:
  Status match(int from, End send) {
    const Ends& sender = ends_[static_cast<size_t>(from)];
    const Ends& receiver = ends_[static_cast<size_t>(send.peer())];
    size_t& next = next_[static_cast<size_t>(send.peer())];
    const bool any = next < receiver.receives().size();
    const auto wanted = any ? std::pair(receiver.receives()[next].peer(), receiver.receives()[next].tag())
                            : std::pair(INT_MAX, 0);
    if (wanted > std::pair(from, send.tag()))
      return mismatch(from, send.peer(), send.tag(), "is not received");
    if (wanted < std::pair(from, send.tag()))
      return mismatch(wanted.first, send.peer(), wanted.second, "is not sent");
    const Step& receive = receiver.step(receiver.receives()[next++]);
    const char* wrong = wrong_with(sender.step(send), sender.lands(send), receive);
    return wrong ? mismatch(from, send.peer(), send.tag(), wrong) : Status();
  }

  std::vector<Ends> ends_;
  std::vector<size_t> next_;  // by receiver: its first receive that is not matched
};

}  // namespace

Status check_match(std::span<const Schedule> schedules, MatchSample sample) {
  for (const Schedule& schedule : schedules)
    if (schedule.input_chunks() != schedules[0].input_chunks() ||
        schedule.output_chunks() != schedules[0].output_chunks())
      return Status::error(Code::protocol, "rank {} divides its buffers otherwise than rank 0",
                           &schedule - schedules.data());
  return Matcher(schedules, sample).all();
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
          add(uint64_t{static_cast<uint32_t>(source.buffer())} << 33 | uint64_t{source.partial()} << 32 |
              source.chunk());
      }
    }
    print = mix(print);
  }
  return print;
}

}  // namespace wia
