// What algorithms are composed of: phases, such as a reduce_scatter, that some ranks of the group run
// together and that each rank adds to its schedule.
//
//   Team    the ranks of a phase; a member is an index into it.
//   Blocks  which chunks belong to which member.
//   Place   where a rank keeps the chunks it works on: an affine map from chunk to memory.
//   Flow    a team's messages in a schedule: two lanes, one for sending, one for all the rest, and tags.
//
// A phase written for a Team serves a whole group and one level of a hierarchy alike (levels.hpp).
//
// Why nothing locks up, though channels hold few messages: the lane that receives never waits for the one
// that sends, and both ends go through the rounds of a phase in the same order, with one peer a round and
// direction. So the message that is first in the order of slices, phases and rounds can always go on, unless
// its channel is full of later ones. Lanes that send to the same rank must not let that happen: phases either
// share their lanes, and so send in that order; or two phases with lanes of their own send one message each a
// slice, of which a channel has room for all slices in flight. A phase that sends in its receiving lane
// (forward) says why that is safe.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"

namespace wia {

struct Team {
  std::vector<int> ranks;
  int me = 0;  // this rank's index

  int size() const { return static_cast<int>(ranks.size()); }
};
Team whole_group(const Shape& shape);

// Consecutive chunks: what one message carries.
struct Run {
  uint32_t first;
  uint32_t count;
  bool operator==(const Run&) const = default;
};
std::vector<Run> runs_of(std::span<const uint32_t> chunks);

// Which chunks are whose: a list of runs for each member.
class Blocks {
 public:
  static Blocks one_each(int members);  // block i is chunk i
  explicit Blocks(const std::vector<std::vector<uint32_t>>& chunks);

  int members() const { return static_cast<int>(begin_.size()) - 1; }
  std::span<const Run> of(int member) const {
    return std::span(runs_).subspan(begin_[member], begin_[member + 1] - begin_[member]);
  }
  uint32_t most_runs() const { return most_runs_; }  // of a block
  // Chunks from the lowest to the highest of all blocks.
  Run range() const { return range_; }
  Run range_of(int member) const;
  // Calls function(Run) for the chunks of `count` blocks from `first` on, counted around the end. Runs that
  // follow each other are one.
  template <class Function>
  void for_each_run(int first, int count, Function&& function) const {
    const int straight = std::min(count, members() - first);
    join(std::span(runs_).subspan(begin_[first], begin_[first + straight] - begin_[first]), function);
    if (straight < count) join(std::span(runs_).first(begin_[count - straight]), function);
  }

 private:
  Blocks() = default;
  template <class Function>
  static void join(std::span<const Run> runs, Function& function) {
    for (size_t i = 0; i < runs.size();) {
      Run run = runs[i++];
      while (i < runs.size() && runs[i].first == run.first + run.count) run.count += runs[i++].count;
      function(run);
    }
  }
  void measure();

  std::vector<uint32_t> begin_;  // by member
  std::vector<Run> runs_;
  uint32_t most_runs_ = 0;
  Run range_{0, 0};
};

// Chunk c lies at origin.plus(c - first).
struct Place {
  Ref origin;
  uint32_t first = 0;

  Ref at(uint32_t chunk) const { return origin.plus(chunk - first); }
  Format format() const { return origin.partial() ? Format::partial : Format::raw; }
  bool operator==(const Place&) const = default;
};

struct Lanes {
  int out;  // sends
  int in;   // receives, and works on what was received; may be the same lane
};

// When chunks arrive: how many steps of a lane must be done.
class Arrivals {
 public:
  explicit Arrivals(int lane) : lane_(lane) {}
  int lane() const { return lane_; }
  void note(Run run, uint32_t position) {
    if (position_.size() < run.first + run.count) position_.resize(run.first + run.count, 0);
    for (uint32_t chunk = run.first; chunk < run.first + run.count; ++chunk) {
      chunks_.push_back(chunk);
      position_[chunk] = position;
    }
  }
  std::span<const uint32_t> in_order() const { return chunks_; }
  // When all of a run is there.
  uint32_t position_of(Run run) const {
    const auto first = position_.begin() + run.first;
    return *std::max_element(first, first + run.count);
  }

 private:
  int lane_;
  std::vector<uint32_t> chunks_, position_;  // as they come; by chunk
};

class Flow {
 public:
  // Chunk c has the length of chunk c of `lengths`. The tag of a message is `tag` plus its first chunk, so no
  // chunk may travel twice from one member to another in a flow.
  Flow(Builder& builder, const Team& team, Buffer lengths, Lanes lanes, int tag);

  int size() const { return team_.size(); }
  int me() const { return team_.me; }
  // The member `steps` behind this one, or before it if negative, counted around.
  int member(int steps) const;
  Lanes lanes() const { return lanes_; }
  Builder& builder() { return builder_; }

  // What is sent, or received, next begins when `lane` has done what it has so far.
  void sends_after(int lane) { sends_after(lane, builder_.position(lane)); }
  void sends_after(int lane, uint32_t position);
  void receives_after(int lane) { builder_.wait(lanes_.in, lane, builder_.position(lane)); }
  // What is sent next begins when all received so far is there.
  void sends_after_received() { sends_after(lanes_.in); }
  // From now on, notes when chunks are received. `arrivals` is of the receiving lane.
  void note(Arrivals& arrivals) { arrivals_ = &arrivals; }

  void send(int member, Run run, Place from) { send_in(lanes_.out, member, run, from); }
  // Other flows between the same ranks use these lanes too: all that is sent goes to the sending one.
  void keep_lanes_apart() { apart_ = true; }
  bool lanes_apart() const { return apart_; }
  // Sends in the receiving lane, right behind the step that made the data: the engine does both at once.
  void forward(int member, Run run, Place from) { send_in(lanes_.in, member, run, from); }
  // Sends of the own block go to `lane`, behind the step there that made it; all others come after them.
  void continue_in(int lane) { own_lane_ = lane; }
  void send_own(int member, Run run, Place from);

  void recv(int member, Run run, Place to);
  // to = what arrives op own.
  void recv_reduce(int member, Run run, Place to, Place own, Format arriving);
  // Receives a run into scratch of its own, for a later reduce.
  Place recv_aside(int member, Run run, Format arriving);
  void reduce(Run run, Place to, std::span<const Ref> sources);
  void copy(Run run, Place to, Place from);  // nothing if they are one place

  // New scratch for partial sums of the chunks in `range`.
  Place partials(Run range);
  // Where to add to `own`: in place if these are partial sums, else new scratch.
  Place sums_of(Place own, Run range) { return own.format() == Format::partial ? own : partials(range); }
  Ref length(uint32_t chunk) const { return Ref(lengths_, chunk); }

 private:
  void send_in(int lane, int member, Run run, Place from);
  int tag(Run run) const { return tag_ + static_cast<int>(run.first); }

  Builder& builder_;
  const Team& team_;
  Buffer lengths_;
  Lanes lanes_;
  int own_lane_;
  bool apart_ = false;
  int tag_;
  std::vector<uint32_t> awaited_;  // by lane: the position that the sending lane has waited for already
  Arrivals* arrivals_ = nullptr;
};

}  // namespace wia
