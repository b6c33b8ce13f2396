// A schedule: the steps one rank takes in a collective, in lanes.
//
// A lane is an in-order stream. Lanes run independently; a step may wait until another lane has done so
// many steps. The engine runs the whole schedule once per slice of the data: slice k is the k-th piece
// of *every* chunk. Immutable after finish(); then safe to share between threads.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "schedule/collective.hpp"
#include "schedule/step.hpp"

namespace wia {

// Bytes of a chunk in a slice, at most, unless something else is asked for.
inline constexpr size_t kUsualSlice = size_t{64} << 10;

class Schedule {
 public:
  int lanes() const { return static_cast<int>(lane_begin_.size()) - 1; }
  std::span<const Step> lane(int l) const {
    return std::span(steps_).subspan(lane_begin_[l], lane_begin_[l + 1] - lane_begin_[l]);
  }
  size_t num_steps() const { return steps_.size(); }
  std::span<const Ref> sources_of(const Step& reduce) const {
    return std::span(sources_).subspan(reduce.first_source(), reduce.sources);
  }
  // Chunks that the call's buffers divide into, on every rank, also where only the root has the buffer.
  uint32_t input_chunks() const { return input_chunks_; }
  uint32_t output_chunks() const { return output_chunks_; }
  uint32_t scratch_chunks() const { return scratch_chunks_; }
  // The most chunks that one message carries.
  uint32_t max_message_chunks() const { return max_message_chunks_; }
  // Chunks that this rank sends in all, each group of sends counted once: what must fit into staging memory.
  uint32_t staged_chunks() const { return staged_chunks_; }
  // The most sources of one reduce; recv_reduce has two.
  uint32_t max_sources() const { return max_sources_; }
  // The largest `fused` of any step, at least 1.
  uint32_t max_fused() const { return max_fused_; }
  bool has_views() const { return has_views_; }
  // Whether any scratch is really written: views are read where they arrived.
  bool needs_scratch_memory() const { return needs_scratch_memory_; }
  // Ranks this rank sends to but never hears from, ascending: a call succeeds only once they have entered it.
  std::span<const int> silent_peers() const { return silent_peers_; }
  // The other way about: ranks it hears from but never sends to, ascending. They wait to learn that it has
  // entered.
  std::span<const int> unanswered_peers() const { return unanswered_peers_; }

  // One line a step, for people: "lane 1: recv_reduce output[3] <- rank 2, output[3]  tag 4".
  std::string text() const;

 private:
  friend class Builder;
  std::vector<Step> steps_;
  std::vector<uint32_t> lane_begin_;
  std::vector<Ref> sources_;
  std::vector<int> silent_peers_, unanswered_peers_;
  uint32_t input_chunks_ = 0, output_chunks_ = 0, scratch_chunks_ = 0;
  uint32_t max_message_chunks_ = 1, max_sources_ = 0, max_fused_ = 1, staged_chunks_ = 0;
  bool has_views_ = false, needs_scratch_memory_ = false;
};

// Format of elements on their way, see reduce/reducer.hpp.
enum class Format : uint8_t { raw, partial };

// Builds one schedule. Algorithms call it; mistakes that depend on the algorithm alone (a chunk that
// does not exist, lanes that wait for one another, two messages of one pair with one tag) are found by
// finish(). Not thread safe.
class Builder {
 public:
  // The split C of buffers that the algorithm may split as it likes (all_reduce, reduce, broadcast).
  Builder(const Shape& shape, uint32_t split = 1);

  // Lanes are numbered from 0; those that have no step in the end are left out, the others move up.
  void send(int lane, int peer, Ref src, int tag, uint32_t chunks = 1) {
    send(lane, peer, src, tag, chunks, src);
  }
  void send(int lane, int peer, Ref src, int tag, uint32_t chunks, Ref extent);
  void recv(int lane, int peer, Ref dst, int tag, uint32_t chunks = 1) {
    recv(lane, peer, dst, tag, chunks, dst);
  }
  void recv(int lane, int peer, Ref dst, int tag, uint32_t chunks, Ref extent);
  // `arriving`: whether the peer sends raw contributions or partial sums.
  void recv_reduce(int lane, int peer, Ref dst, Ref src, int tag, uint32_t chunks, Ref extent,
                   Format arriving = Format::raw);
  // The last step of `lane`, a send, must take its data at once (kTake).
  void take(int lane);
  // Of `chunks` consecutive chunks from dst, each source and extent on.
  void reduce(int lane, Ref dst, std::span<const Ref> sources, Ref extent, uint32_t chunks = 1);
  void copy(int lane, Ref dst, Ref src, uint32_t chunks, Ref extent);

  // Number of steps that `lane` has so far: what a wait waits for.
  uint32_t position(int lane) const;
  // The next step of `lane` waits until `other` has done its first `position` steps. At most one wait a
  // step: a second one goes on a nop. A wait for no step at all (position 0) is none.
  void wait(int lane, int other, uint32_t position);

  // So many new chunks of scratch, numbered from the one returned. Each holds the longest chunk of the call.
  uint32_t allocate_scratch(uint32_t chunks);

  // Checks, and marks what the engine may do at once:
  //   - View: a recv of one chunk into scratch that one later reduce of its lane reads, and no other step
  //     touches: read where it arrived (kView). At most kMaxViews lie between a recv and its reduce, and no
  //     other recv from the same peer does in that lane.
  //   - Group: consecutive sends of one lane with the same src, chunks, extent, tag and flags, to different
  //   peers,
  //     no wait on the later ones: fused = how many on the first, 0 on the others. A single send has 1.
  //   - Fused reduction: reduce or recv_reduce, directly followed by a group (no wait on it) that sends its
  //     dst: the sum is written to all destinations in one pass; fused = how many sends. The sends have 0:
  //     the reduction executes them.
  // An algorithm gets this by putting such steps next to each other.
  static constexpr uint32_t kMaxViews = 64;
  Result<Schedule> finish() &&;

 private:
  struct Wait {
    int lane = 0;
    uint32_t position = 0;
  };
  Step& add(int lane, Kind kind);
  Step& add_data(int lane, Kind kind, uint32_t chunks, Ref extent);
  Step& add_message(int lane, Kind kind, int peer, int tag, uint32_t chunks, Ref extent);
  void ensure(int lane);
  void fail(std::string text);
  void flatten();
  void summarize();
  void mark_views();
  void mark_groups();

  Shape shape_;
  Schedule schedule_;
  std::vector<std::vector<Step>> lanes_;
  std::vector<Wait> pending_wait_;  // by lane
  Status error_;                    // the first mistake
};

}  // namespace wia
