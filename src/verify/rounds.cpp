#include "verify/rounds.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace wia {
namespace {

// Moves all lanes as far as they go, and remembers after how many messages each step was done.
class Rounds {
 public:
  explicit Rounds(std::span<const Schedule> schedules) : schedules_(schedules), ranks_(schedules.size()) {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].lanes.resize(static_cast<size_t>(schedules[r].lanes()));
    }
  }

  int count() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t r = 0; r < ranks_.size(); ++r)
        for (int l = 0; l < schedules_[r].lanes(); ++l) moved |= advance(static_cast<int>(r), l);
    }
    int longest = 0;
    for (const Rank& rank : ranks_)
      for (const std::vector<int>& lane : rank.lanes)
        longest = std::max(longest, lane.empty() ? 0 : lane.back());
    return longest;
  }

 private:
  struct Rank {
    std::vector<std::vector<int>> lanes;  // by lane: of the steps done, the messages before their end
  };

  static uint64_t message(int from, int to, uint16_t tag) {
    return uint64_t{static_cast<uint32_t>(from)} << 40 | uint64_t{static_cast<uint32_t>(to)} << 16 | tag;
  }

  bool advance(int r, int l) {
    Rank& rank = ranks_[static_cast<size_t>(r)];
    std::vector<int>& done = rank.lanes[static_cast<size_t>(l)];
    const auto steps = schedules_[static_cast<size_t>(r)].lane(l);
    const size_t before = done.size();
    for (; done.size() < steps.size();) {
      const Step& step = steps[done.size()];
      int depth = done.empty() ? 0 : done.back();
      if (step.wait_position > 0) {
        const std::vector<int>& other = rank.lanes[step.wait_lane];
        if (other.size() < step.wait_position) break;
        depth = std::max(depth, other[step.wait_position - 1]);
      }
      if (step.kind == Kind::send) {
        sent_[message(r, step.peer, step.tag)] = depth;
      } else if (step.peer >= 0) {
        const auto arrived = sent_.find(message(step.peer, r, step.tag));
        if (arrived == sent_.end()) break;
        depth = std::max(depth, arrived->second + 1);
        sent_.erase(arrived);
      }
      done.push_back(depth);
    }
    return done.size() > before;
  }

  const std::span<const Schedule> schedules_;
  std::vector<Rank> ranks_;
  std::unordered_map<uint64_t, int> sent_;  // on their way: messages that had to come before
};

}  // namespace

int count_rounds(std::span<const Schedule> schedules) { return Rounds(schedules).count(); }

}  // namespace wia
