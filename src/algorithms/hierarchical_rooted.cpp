// hierarchical, for the collectives with a root, and the barrier. The data has one chunk for each path
// through the levels inside the outermost one (levels.hpp).
//
//   broadcast  From the innermost level outwards, the root's data is scattered over the ranks of its units.
//              On the outermost level each path has a broadcast. Then inwards, an all_gather on each level.
//   reduce     The same backwards: from the innermost level outwards a reduce_scatter; on the outermost a
//              reduce to the root's unit; then inwards the sums are gathered until the root has all.
//   barrier    Level by level, members report to the first of their unit; the outermost ones run a barrier;
//              then they release the others.
#include <optional>

#include "algorithms/builders.hpp"
#include "algorithms/level_sums.hpp"

namespace wia {
namespace {

class Rooted {
 public:
  explicit Rooted(const Shape& shape)
      : shape_(shape),
        levels_(shape),
        top_(levels_.top()),
        chunks_(levels_.all_paths(top_)),
        builder_(shape, static_cast<uint32_t>(chunks_.size())) {}

 protected:
  const LevelPhases& phases(int level) const { return phases_at(shape_, level, levels_.count()); }
  LevelLanes lanes_of(int level) const {
    const int members = levels_.team(level, Levels::Path{}).size();
    return lanes_at(level, levels_.count(), phases(level), members, levels_.my_paths(level).size());
  }
  Lanes outward(int level) const { return lanes_of(level).outward; }
  Lanes inward(int level) const { return lanes_of(level).inward; }
  bool with_root(int level) const { return levels_.my_unit(level) == levels_.unit_of(shape_.root, level); }
  int root_on(int level) const { return levels_.member_of(shape_.root, level); }
  uint32_t chunk_of(const Levels::Path& path) const { return levels_.number_of(path, top_); }
  // A level's lanes begin when those of the levels inside it are through.
  void starts_after_inside(int level) {
    for (int inside = 0; inside < level; ++inside) start_after(builder_, outward(level), outward(inside));
  }
  // Calls function(path, flow) for each path of this rank on a level.
  template <class Function>
  void for_each_path(int level, Buffer lengths, Lanes lanes, int tag, Function&& function) {
    for (const Levels::Path& path : levels_.my_paths(level)) {
      const Team team = levels_.team(level, path);
      Flow flow(builder_, team, lengths, lanes, tag);
      function(path, flow);
    }
  }
  // Each member's block goes from the one with the root to its member, or the other way about.
  enum class Way { from_root, to_root };
  void move_blocks(Flow& flow, int level, const Levels::Path& path, Way way, Place data) const {
    const int root = root_on(level);
    const Blocks parts = blocks(level, path);
    for (int member = 0; member < flow.size(); ++member) {
      if (member == root) continue;
      const auto [from, to] = way == Way::from_root ? std::pair(root, member) : std::pair(member, root);
      for (const Run run : parts.of(member)) {
        if (flow.me() == from) flow.send(to, run, data);
        if (flow.me() == to) flow.recv(from, run, data);
      }
    }
  }
  Blocks blocks(int level, const Levels::Path& path) const { return levels_.blocks(level, path, chunks_); }
  int second_tag() const { return static_cast<int>(chunks_.size()); }

  const Shape& shape_;
  const Levels levels_;
  const int top_;
  const std::vector<Levels::Path> chunks_;
  Builder builder_;
};

class Broadcast : Rooted {
 public:
  using Rooted::Rooted;

  Result<Schedule> build() && {
    for (int level = 0; level < top_; ++level) {
      starts_after_inside(level);
      if (!levels_.skipped(level) && with_root(level)) scatter_on(level);
    }
    starts_after_inside(top_);
    for_each_path(top_, Buffer::output, outward(top_), 0, [&](const Levels::Path& path, Flow& flow) {
      phases(top_).broadcast(flow, root_on(top_), Run{chunk_of(path), 1}, kData, kData);
    });
    for (int level = top_ - 1; level >= 0; --level) {
      if (!levels_.skipped(level)) share_on(level);
    }
    return std::move(builder_).finish();
  }

 private:
  static constexpr Place kData{output(0)};  // on the root it is the input

  void scatter_on(int level) {
    for_each_path(level, Buffer::output, outward(level), 0, [&](const Levels::Path& path, Flow& flow) {
      move_blocks(flow, level, path, Way::from_root, kData);
    });
  }

  // In the root's units, who scattered has everything already, and the blocks are from it; in the others they
  // come from the levels outside.
  void share_on(int level) {
    for_each_path(level, Buffer::output, inward(level), second_tag(),
                  [&](const Levels::Path& path, Flow& flow) {
                    for (int inside = 0; inside <= level; ++inside) flow.sends_after(outward(inside).in);
                    const Blocks parts = blocks(level, path);
                    if (with_root(level))
                      return share_directly(flow, parts, kData, kData,
                                            {.complete = root_on(level), .arrivals = nullptr});
                    for (int outside = level + 1; outside <= top_; ++outside) {
                      flow.sends_after(outward(outside).in);
                      if (outside < top_) flow.sends_after(inward(outside).in);
                    }
                    phases(level).exchange->all_gather(flow, parts, kData, kData);
                  });
  }
};

class Reduce : Rooted {
 public:
  using Rooted::Rooted;

  Result<Schedule> build() && {
    const Place result = place_of_result();
    std::vector<Part> parts = {{Levels::Path{}, Place{input(0)}}};
    for (int level = 0; level < top_; ++level) {
      if (levels_.skipped(level)) continue;
      starts_after_inside(level);
      parts = reduce_scatter_on(builder_, levels_, level, outward(level), phases(level), Buffer::input,
                                chunks_, parts, std::nullopt);
    }
    starts_after_inside(top_);
    for (const Part& part : parts) {
      const Team team = levels_.team(top_, part.path);
      Flow flow(builder_, team, Buffer::input, outward(top_), 0);
      phases(top_).reduce(flow, root_on(top_), chunk_of(part.path), part.sums, result);
    }
    for (int level = top_ - 1; level >= 0; --level) {
      if (!levels_.skipped(level) && with_root(level)) gather_on(level, result);
    }
    return std::move(builder_).finish();
  }

 private:
  // Who shares a unit with the root collects for it: what the paths of the innermost such level have.
  Place place_of_result() {
    int level = 0;
    while (levels_.unit_of(shape_.rank, level - 1) != levels_.unit_of(shape_.root, level - 1)) ++level;
    if (shape_.is_root() || level > top_) return Place{output(0)};
    const std::vector<Levels::Path> paths = levels_.my_paths(level);
    uint32_t first = UINT32_MAX, last = 0;
    for (uint32_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      for (const Levels::Path& path : paths) {
        if (!continues(chunks_[chunk], path, level)) continue;
        first = std::min(first, chunk);
        last = chunk;
      }
    }
    return {scratch(builder_.allocate_scratch(last - first + 1)), first};
  }

  void gather_on(int level, Place result) {
    for_each_path(level, Buffer::input, inward(level), second_tag(),
                  [&](const Levels::Path& path, Flow& flow) {
                    flow.sends_after(outward(level).out);
                    flow.sends_after(outward(top_).in);
                    for (int outside = level + 1; outside < top_; ++outside)
                      flow.sends_after(inward(outside).in);
                    move_blocks(flow, level, path, Way::to_root, result);
                  });
  }
};

}  // namespace

Result<Schedule> hierarchical_broadcast(const Shape& shape) { return Broadcast(shape).build(); }
Result<Schedule> hierarchical_reduce(const Shape& shape) { return Reduce(shape).build(); }

Result<Schedule> hierarchical_barrier(const Shape& shape) {
  constexpr int kLane = 0, kCome = 0, kGo = 1;  // tags
  const Levels levels(shape);
  Builder builder(shape);
  int level = 0;  // up to the level on which this rank is not the first of its unit
  for (; level < levels.top() && levels.member_of(shape.rank, level) == 0; ++level) {
    const Team team = levels.team(level, Levels::Path{});
    for (int i = 1; i < team.size(); ++i) builder.recv(kLane, team.ranks[i], Ref(), kCome, 0);
  }
  const Team team = levels.team(level, Levels::Path{});
  if (level == levels.top()) {
    dissemination_barrier(builder, team, kLane, 0);
  } else {
    builder.send(kLane, team.ranks[0], Ref(), kCome, 0);
    builder.recv(kLane, team.ranks[0], Ref(), kGo, 0);
  }
  while (--level >= 0) {
    const Team released = levels.team(level, Levels::Path{});
    for (int i = 1; i < released.size(); ++i) builder.send(kLane, released.ranks[i], Ref(), kGo, 0);
  }
  return std::move(builder).finish();
}

}  // namespace wia
