// hierarchical: each level of the machine is a level of the algorithm, so that little crosses the slow links
// between nodes, and all ranks of a node share in carrying it (Chan, Heimlich, Purkayastha, van de Geijn,
// "Collective communication: theory, practice, and experience", 2007). Levels and columns are levels.hpp's,
// what a level can run level_phases.hpp's.
//
//   all_reduce      From the innermost level outwards, a reduce_scatter: each rank gets the sums of its
//                   columns in its unit. On the outermost level a reduce_scatter and an all_gather, or an
//                   all_reduce. Then inwards, an all_gather on each level.
//   reduce_scatter  From the innermost level outwards.
//   all_gather      From the outermost level inwards. Levels that run `direct` share every block as soon as
//                   it arrives.
//
// Blocks always stand at their final place, so nothing is shuffled at the end. Levels have lanes of their
// own: while one slice crosses nodes, the next is reduced inside. A rank that serves several columns goes
// through them in their order, as all others do. Two ranks meet on one level alone, so all levels use the
// same tags.
#include <optional>

#include "algorithms/builders.hpp"
#include "algorithms/flat.hpp"
#include "algorithms/level_sums.hpp"

namespace wia {
namespace {

class AllReduce {
 public:
  explicit AllReduce(const Shape& shape)
      : shape_(shape),
        levels_(shape),
        top_(levels_.top()),
        doubling_(shape.level_algorithms.of(top_, levels_.count()) == LevelAlgorithm::recursive_doubling),
        // A column of the outermost level is one chunk, or is divided further.
        chunks_(levels_.all_paths(doubling_ ? top_ : top_ + 1)),
        builder_(shape, static_cast<uint32_t>(chunks_.size())),
        parts_(levels_.count()) {}

  Result<Schedule> build() && {
    std::vector<Part> parts = {{Levels::Path{}, Place{input(0)}}};
    int inside = -1;
    for (int level = 0; level <= top_; ++level) {
      if (levels_.skipped(level)) continue;
      parts_[level] = parts;
      const Lanes lanes = reducing(level);
      if (inside >= 0) start_after(builder_, lanes, reducing(inside));
      if (level == top_ && doubling_) {
        all_reduce_at_top(lanes);
      } else {
        const std::optional<Place> result = level == top_ ? std::optional(kResult) : std::nullopt;
        parts = reduce_scatter_on(builder_, levels_, level, lanes, phases(level), Buffer::output, chunks_,
                                  parts, result);
      }
      inside = level;
    }
    for (int level = doubling_ ? top_ - 1 : top_; level >= 0; --level) {
      if (!levels_.skipped(level)) all_gather_on(level);
    }
    return std::move(builder_).finish();
  }

 private:
  static constexpr Place kResult{output(0)};

  const LevelPhases& phases(int level) const { return phases_at(shape_, level, levels_.count()); }
  LevelLanes lanes_of(int level) const {
    const int members = levels_.team(level, Levels::Path{}).size();
    return lanes_at(level, levels_.count(), phases(level), members, parts_[level].size());
  }
  Lanes reducing(int level) const { return lanes_of(level).outward; }
  Lanes gathering(int level) const { return lanes_of(level).inward; }

  void all_reduce_at_top(Lanes lanes) {
    for (const Part& part : parts_[top_]) {
      const Team team = levels_.team(top_, part.path);
      const bool in_place = shape_.in_place && part.sums == Place{input(0)};
      Flow flow(builder_, team, Buffer::output, lanes, 0);
      recursive_doubling_all_reduce(flow, Run{levels_.number_of(part.path, top_), 1}, part.sums, kResult,
                                    in_place);
    }
  }

  // The own block is the outermost level's result; what else is shared came from the levels outside.
  void all_gather_on(int level) {
    const Lanes lanes = gathering(level);
    for (const Part& part : parts_[level]) {
      const Team team = levels_.team(level, part.path);
      Flow flow(builder_, team, Buffer::output, lanes, static_cast<int>(chunks_.size()));
      if (level == top_ && lanes.in != reducing(level).in) flow.continue_in(reducing(level).in);
      flow.sends_after(reducing(level).out);
      flow.sends_after(reducing(top_).in);
      for (int outside = top_; outside > level; --outside) {
        if (!parts_[outside].empty()) flow.sends_after(gathering(outside).in);
      }
      const Blocks blocks = levels_.blocks(level, part.path, chunks_);
      phases(level).exchange->all_gather(flow, blocks, kResult, kResult);
    }
  }

  const Shape& shape_;
  const Levels levels_;
  const int top_;
  const bool doubling_;
  const std::vector<Levels::Path> chunks_;
  Builder builder_;
  std::vector<std::vector<Part>> parts_;  // by level
};

std::vector<Levels::Path> paths_of_ranks(const Levels& levels, int ranks) {
  std::vector<Levels::Path> paths;
  for (int rank = 0; rank < ranks; ++rank) paths.push_back(levels.path_of(rank));
  return paths;
}

class AllGatherInLevels {
 public:
  explicit AllGatherInLevels(const Shape& shape)
      : shape_(shape),
        levels_(shape),
        top_(levels_.top()),
        chunks_(paths_of_ranks(levels_, shape.ranks)),
        builder_(shape) {
    for (int level = 0; level <= top_; ++level) arrivals_.emplace_back(lanes_of(level).in);
  }

  Result<Schedule> build() && {
    for (int level = top_; level >= 0; --level) {
      if (levels_.skipped(level)) continue;
      for (const Levels::Path& path : levels_.my_paths(level)) {
        const Team team = levels_.team(level, path);
        Flow flow(builder_, team, Buffer::output, lanes_of(level), 0);
        flow.note(arrivals_[level]);
        if (level == top_) {
          phases(level).exchange->all_gather(flow, levels_.blocks(level, path, chunks_), own_, kAll);
        } else if (phases(level).algorithm == LevelAlgorithm::direct) {
          share_as_it_arrives(flow, team, level, path);
        } else {
          for (int outside = top_; outside > level; --outside) flow.sends_after(lanes_of(outside).in);
          phases(level).exchange->all_gather(flow, levels_.blocks(level, path, chunks_), kAll, kAll);
        }
      }
    }
    return std::move(builder_).finish();
  }

 private:
  static constexpr Place kAll{output(0)};

  const LevelPhases& phases(int level) const { return phases_at(shape_, level, levels_.count()); }
  static Lanes lanes_of(int level) { return {2 * level, 2 * level + 1}; }

  // First the members' own blocks, then what comes to them from outside, level by level.
  void share_as_it_arrives(Flow& flow, const Team& team, int level, const Levels::Path& path) {
    share_directly(flow, blocks_from(level, level, team, path), own_, kAll);
    for (int outside = top_; outside > level; --outside) {
      if (levels_.skipped(outside)) continue;
      share_directly(flow, blocks_from(outside, level, team, path), kAll, kAll,
                     {.complete = -1, .arrivals = &arrivals_[outside]});
    }
  }

  // Of each member's block on `level`, the chunks that came to it on level `from`, in the order in which they
  // did.
  Blocks blocks_from(int from, int level, const Team& team, const Levels::Path& path) const {
    std::vector<std::vector<uint32_t>> lists(team.size());
    for (const uint32_t chunk : from > level ? in_order_of_arrival(from) : as_numbered()) {
      if (!continues(chunks_[chunk], path, level)) continue;
      const int member = levels_.member_serving(level, chunks_[chunk][level]);
      if (came_on(team.ranks[member], chunk, level) == from) lists[member].push_back(chunk);
    }
    return Blocks(lists);
  }

  // The level, from `level` outwards, on which a rank gets a chunk; its own is there from the beginning,
  // which counts as `level`.
  int came_on(int rank, uint32_t chunk, int level) const {
    for (int outside = level + 1; outside <= top_; ++outside) {
      if (levels_.server(outside, levels_.unit_of(rank, outside), chunks_[chunk]) != rank) return outside;
    }
    return level;
  }

  std::vector<uint32_t> as_numbered() const {
    std::vector<uint32_t> chunks(chunks_.size());
    for (uint32_t chunk = 0; chunk < chunks.size(); ++chunk) chunks[chunk] = chunk;
    return chunks;
  }

  // By the units that have them, in the order in which a level's all_gather delivers: found by a rehearsal.
  std::vector<uint32_t> in_order_of_arrival(int level) const {
    Shape rehearsal;
    rehearsal.collective = Collective::all_gather;
    rehearsal.ranks = levels_.team(level, Levels::Path{}).size();
    rehearsal.rank = levels_.member_of(shape_.rank, level);
    Builder builder(rehearsal);
    const Team team = whole_group(rehearsal);
    Flow flow(builder, team, Buffer::output, {0, 1}, 0);
    Arrivals arrivals(1);
    flow.note(arrivals);
    phases(level).exchange->all_gather(flow, Blocks::one_each(rehearsal.ranks), kAll, kAll);
    std::vector<std::vector<uint32_t>> by_member(rehearsal.ranks);
    for (const uint32_t chunk : as_numbered())
      by_member[levels_.member_serving(level, chunks_[chunk][level])].push_back(chunk);
    std::vector<uint32_t> order;
    for (const uint32_t member : arrivals.in_order())
      order.insert(order.end(), by_member[member].begin(), by_member[member].end());
    return order;
  }

  const Shape& shape_;
  const Levels levels_;
  const int top_;
  const std::vector<Levels::Path> chunks_;  // by rank
  const Place own_ = own_block(shape_);
  Builder builder_;
  std::vector<Arrivals> arrivals_;  // by level
};

}  // namespace

Result<Schedule> hierarchical_all_reduce(const Shape& shape) { return AllReduce(shape).build(); }

Result<Schedule> hierarchical_reduce_scatter(const Shape& shape) {
  const Levels levels(shape);
  const std::vector<Levels::Path> chunks = paths_of_ranks(levels, shape.ranks);
  const Place result{output(0), static_cast<uint32_t>(shape.rank)};
  Builder builder(shape);
  std::vector<Part> parts = {{Levels::Path{}, Place{input(0)}}};
  std::optional<Lanes> inside;
  for (int level = 0; level <= levels.top(); ++level) {
    if (levels.skipped(level)) continue;
    const Lanes lanes{2 * level, 2 * level + 1};
    if (inside) start_after(builder, lanes, *inside);
    parts = reduce_scatter_on(builder, levels, level, lanes, phases_at(shape, level, levels.count()),
                              Buffer::input, chunks, parts,
                              level == levels.top() ? std::optional(result) : std::nullopt);
    inside = lanes;
  }
  return std::move(builder).finish();
}

Result<Schedule> hierarchical_all_gather(const Shape& shape) { return AllGatherInLevels(shape).build(); }

}  // namespace wia
