#include "algorithms/level_sums.hpp"

namespace wia {

void start_after(Builder& builder, Lanes lanes, Lanes inside) {
  for (const int lane : {lanes.out, lanes.in}) builder.wait(lane, inside.in, builder.position(inside.in));
}

std::vector<Part> reduce_scatter_on(Builder& builder, const Levels& levels, int level, Lanes lanes,
                                    const LevelPhases& phases, Buffer lengths,
                                    std::span<const Levels::Path> chunks, std::span<const Part> parts,
                                    std::optional<Place> result) {
  std::vector<Part> next;
  for (const Part& part : parts) {
    const Team team = levels.team(level, part.path);
    const Blocks blocks = levels.blocks(level, part.path, chunks);
    Flow flow(builder, team, lengths, lanes, 0);
    if (parts.size() > 1) flow.keep_lanes_apart();
    const Place sums = result ? *result : flow.partials(blocks.range_of(team.me));
    phases.exchange->reduce_scatter(flow, blocks, part.sums, sums);
    Levels::Path path = part.path;
    for (path[level] = 0; path[level] < levels.width(level); ++path[level]) {
      if (levels.member_serving(level, path[level]) == team.me) next.push_back({path, sums});
    }
  }
  return next;
}

}  // namespace wia
