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
  uint32_t input_chunks() const { return input_chunks_; }
  uint32_t output_chunks() const { return output_chunks_; }
  uint32_t scratch_chunks() const { return scratch_chunks_; }
  // The most chunks that one message carries.
  uint32_t max_message_chunks() const { return max_message_chunks_; }
  uint32_t max_sources() const { return max_sources_; }
  uint32_t max_fused() const { return max_fused_; }
  bool has_views() const { return has_views_; }
  // Ranks this rank sends to but never hears from: a call succeeds only once they have entered it too.
  std::span<const int> silent_peers() const { return silent_peers_; }

  // One line a step, for people: "lane 1: recv_reduce output[3] <- rank 2, output[3]  tag 4".
  std::string text() const;

 private:
  friend class Builder;
  std::vector<Step> steps_;
  std::vector<uint32_t> lane_begin_;
  std::vector<Ref> sources_;
  std::vector<int> silent_peers_;
  uint32_t input_chunks_ = 0, output_chunks_ = 0, scratch_chunks_ = 0;
  uint32_t max_message_chunks_ = 1, max_sources_ = 0, max_fused_ = 1;
  bool has_views_ = false;
};

// Builds one schedule. Algorithms call it; mistakes that depend on the algorithm alone (a chunk that
// does not exist, a wait for a later step of the own lane, two messages of one pair with one tag) are found
// by finish().
class Builder {
 public:
  // The split C of buffers that the algorithm may split as it likes (all_reduce, reduce, broadcast).
  Builder(const Shape& shape, uint32_t split = 1);

  // Lanes are numbered from 0 and come into being with their first step.
  void send(int lane, int peer, Ref src, int tag, uint32_t chunks = 1) { send(lane, peer, src, tag, chunks, src); }
  void send(int lane, int peer, Ref src, int tag, uint32_t chunks, Ref extent);
  void recv(int lane, int peer, Ref dst, int tag, uint32_t chunks = 1) { recv(lane, peer, dst, tag, chunks, dst); }
  void recv(int lane, int peer, Ref dst, int tag, uint32_t chunks, Ref extent);
  void recv_reduce(int lane, int peer, Ref dst, Ref src, int tag, uint32_t chunks, Ref extent);
  void reduce(int lane, Ref dst, std::span<const Ref> sources, Ref extent);
  void copy(int lane, Ref dst, Ref src, uint32_t chunks, Ref extent);

  // Number of steps that `lane` has so far: what a wait waits for.
  uint32_t position(int lane) const;
  // The next step of `lane` waits until `other` has done its first `position` steps. At most one wait a
  // step: a second one goes on a nop.
  void wait(int lane, int other, uint32_t position);

  // So many new chunks of scratch, numbered from the one returned. Each holds the longest chunk of the call.
  uint32_t allocate_scratch(uint32_t chunks);

  // Checks, and marks what the engine may do at once:
  //   - recv into scratch that only the next reduce of its lane reads: read in place (kView);
  //   - consecutive sends of one lane with the same src: one group (fused = how many, on its first step);
  //   - reduce or recv_reduce followed by a group that sends its dst: the sum is written to all
  //     destinations in one pass (fused = how many sends).
  // An algorithm gets this by putting such steps next to each other.
  Result<Schedule> finish() &&;

 private:
  Step& add(int lane, Kind kind);
  Status check() const;
  void mark();

  Shape shape_;
  Schedule schedule_;
  std::vector<std::vector<Step>> lanes_;
  std::vector<std::pair<int, uint32_t>> pending_wait_;
};

}  // namespace wia
