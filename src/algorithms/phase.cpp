#include "algorithms/phase.hpp"

#include <numeric>

#include "algorithms/peers.hpp"

namespace wia {

Team whole_group(const Shape& shape) {
  Team team;
  team.ranks.resize(shape.ranks);
  std::iota(team.ranks.begin(), team.ranks.end(), 0);
  team.me = shape.rank;
  return team;
}

std::vector<Run> runs_of(std::span<const uint32_t> chunks) {
  std::vector<Run> runs;
  for (const uint32_t chunk : chunks) {
    if (!runs.empty() && runs.back().first + runs.back().count == chunk) {
      ++runs.back().count;
    } else {
      runs.push_back({chunk, 1});
    }
  }
  return runs;
}

Blocks Blocks::one_each(int members) {
  Blocks blocks;
  blocks.begin_.resize(members + 1);
  blocks.runs_.resize(members);
  std::iota(blocks.begin_.begin(), blocks.begin_.end(), 0u);
  for (int member = 0; member < members; ++member) blocks.runs_[member] = {static_cast<uint32_t>(member), 1};
  blocks.measure();
  return blocks;
}

Blocks::Blocks(const std::vector<std::vector<uint32_t>>& chunks) : begin_{0} {
  for (const auto& block : chunks) {
    const std::vector<Run> runs = runs_of(block);
    runs_.insert(runs_.end(), runs.begin(), runs.end());
    begin_.push_back(static_cast<uint32_t>(runs_.size()));
  }
  measure();
}

Run Blocks::range_of(int member) const {
  uint32_t lowest = UINT32_MAX, end = 0;
  for (const Run run : of(member)) {
    lowest = std::min(lowest, run.first);
    end = std::max(end, run.first + run.count);
  }
  return end == 0 ? Run{0, 0} : Run{lowest, end - lowest};
}

void Blocks::measure() {
  uint32_t lowest = UINT32_MAX, end = 0;
  for (int member = 0; member < members(); ++member) {
    most_runs_ = std::max(most_runs_, static_cast<uint32_t>(of(member).size()));
    if (of(member).empty()) continue;
    const Run range = range_of(member);
    lowest = std::min(lowest, range.first);
    end = std::max(end, range.first + range.count);
  }
  if (end > 0) range_ = {lowest, end - lowest};
}

Flow::Flow(Builder& builder, const Team& team, Buffer lengths, Lanes lanes, int tag)
    : builder_(builder), team_(team), lengths_(lengths), lanes_(lanes), own_lane_(lanes.out), tag_(tag) {}

int Flow::member(int steps) const { return around(team_.me + steps, team_.size()); }

void Flow::sends_after(int lane, uint32_t position) {
  if (awaited_.size() <= static_cast<size_t>(lane)) awaited_.resize(lane + 1, 0);
  if (position <= awaited_[lane] || lane == lanes_.out) return;
  awaited_[lane] = position;
  builder_.wait(lanes_.out, lane, position);
}

void Flow::send_in(int lane, int member, Run run, Place from) {
  builder_.send(lane, team_.ranks[member], from.at(run.first), tag(run), run.count, length(run.first));
}

void Flow::send_own(int member, Run run, Place from) {
  send_in(own_lane_, member, run, from);
  if (own_lane_ != lanes_.out) sends_after(own_lane_);
}

void Flow::recv(int member, Run run, Place to) {
  builder_.recv(lanes_.in, team_.ranks[member], to.at(run.first), tag(run), run.count, length(run.first));
  if (arrivals_) arrivals_->note(run, builder_.position(lanes_.in));
}

void Flow::recv_reduce(int member, Run run, Place to, Place own, Format arriving) {
  builder_.recv_reduce(lanes_.in, team_.ranks[member], to.at(run.first), own.at(run.first), tag(run),
                       run.count, length(run.first), arriving);
}

Place Flow::recv_aside(int member, Run run, Format arriving) {
  const uint32_t area = builder_.allocate_scratch(run.count);
  const Place aside{arriving == Format::partial ? partial(area) : scratch(area), run.first};
  recv(member, run, aside);
  return aside;
}

void Flow::reduce(Run run, Place to, std::span<const Ref> sources) {
  builder_.reduce(lanes_.in, to.at(run.first), sources, length(run.first), run.count);
}

void Flow::copy(Run run, Place to, Place from) {
  if (to.at(run.first) == from.at(run.first)) return;
  builder_.copy(lanes_.in, to.at(run.first), from.at(run.first), run.count, length(run.first));
}

Place Flow::partials(Run range) { return {partial(builder_.allocate_scratch(range.count)), range.first}; }

}  // namespace wia
