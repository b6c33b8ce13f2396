#include "schedule/chains.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace wia {
namespace {

// Moves all lanes as far as they go, and remembers when each step was done.
class Chains {
 public:
  Chains(std::span<const Schedule> schedules, const StepCost& message, const StepCost& work)
      : schedules_(schedules), message_cost_(message), work_cost_(work), ranks_(schedules.size()) {
    for (size_t r = 0; r < ranks_.size(); ++r)
      ranks_[r].lanes.resize(static_cast<size_t>(schedules[r].lanes()));
  }

  double longest() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t r = 0; r < ranks_.size(); ++r)
        for (int l = 0; l < schedules_[r].lanes(); ++l) moved |= advance(static_cast<int>(r), l);
    }
    double longest = 0;
    for (const Rank& rank : ranks_)
      for (const std::vector<double>& lane : rank.lanes)
        longest = std::max(longest, lane.empty() ? 0 : lane.back());
    return longest;
  }

 private:
  struct Rank {
    std::vector<std::vector<double>> lanes;  // by lane: when the steps that are done ended
  };

  static uint64_t message(int from, int to, uint16_t tag) {
    return uint64_t{static_cast<uint32_t>(from)} << 40 | uint64_t{static_cast<uint32_t>(to)} << 16 | tag;
  }

  bool advance(int r, int l) {
    Rank& rank = ranks_[static_cast<size_t>(r)];
    std::vector<double>& done = rank.lanes[static_cast<size_t>(l)];
    const auto steps = schedules_[static_cast<size_t>(r)].lane(l);
    const size_t before = done.size();
    while (done.size() < steps.size()) {
      const Step& step = steps[done.size()];
      double end = done.empty() ? 0 : done.back();
      if (step.wait_position > 0) {
        const std::vector<double>& other = rank.lanes[step.wait_lane];
        if (other.size() < step.wait_position) break;
        end = std::max(end, other[step.wait_position - 1]);
      }
      if (step.kind == Kind::send) {
        sent_[message(r, step.peer, step.tag)] = end;
      } else {
        if (step.peer >= 0) {
          const auto arrived = sent_.find(message(step.peer, r, step.tag));
          if (arrived == sent_.end()) break;
          end = std::max(end, arrived->second + message_cost_(r, step));
          sent_.erase(arrived);
        }
        end += work_cost_(r, step);
      }
      done.push_back(end);
    }
    return done.size() > before;
  }

  const std::span<const Schedule> schedules_;
  const StepCost &message_cost_, &work_cost_;
  std::vector<Rank> ranks_;
  std::unordered_map<uint64_t, double> sent_;  // on their way: when they were sent
};

}  // namespace

double longest_chain(std::span<const Schedule> schedules, const StepCost& message, const StepCost& work) {
  return Chains(schedules, message, work).longest();
}

int count_rounds(std::span<const Schedule> schedules) {
  const auto nothing = [](int, const Step&) { return 0.0; };
  return static_cast<int>(longest_chain(
      schedules, [](int, const Step&) { return 1.0; }, nothing));
}

}  // namespace wia
