// hierarchical, all_to_all: few large messages between nodes instead of many small ones.
//
// Blocks travel outwards, one level after the other (levels.hpp). On each level a block goes to the rank that
// serves the path of its destination in the unit of that level; if the destination is in that unit, this is
// the destination itself. So across nodes, a rank sends each destination on its path the blocks from its
// whole node, in one message if the node's ranks are consecutive, and they arrive at their final places.
//
// Those on the way do not know the lengths of the blocks that pass through them, so these must be equal. In
// place, all that is sent leaves from a copy, because what arrives overwrites it.
#include <algorithm>
#include <optional>

#include "algorithms/builders.hpp"
#include "algorithms/levels.hpp"

namespace wia {
namespace {

class AllToAll {
 public:
  explicit AllToAll(const Shape& shape) : rank_(shape.rank), levels_(shape), builder_(shape) {
    for (int rank = 0; rank < shape.ranks; ++rank) paths_.push_back(levels_.path_of(rank));
    while (levels_.skipped(first_)) ++first_;
    const auto all = static_cast<uint32_t>(shape.ranks);
    if (shape.in_place) {
      source_ = scratch(builder_.allocate_scratch(all));
      builder_.copy(lanes_of(first_).out, *source_, input(0), all, input(0));
    } else {
      builder_.copy(lanes_of(first_).in, output(chunk(rank_)), input(chunk(rank_)), 1, input(chunk(rank_)));
    }
    for (int destination = 0; destination < shape.ranks; ++destination) {
      if (destination != rank_)
        here_.push_back({destination, (source_ ? *source_ : input(0)).plus(chunk(destination))});
    }
  }

  Result<Schedule> build() && {
    for (int level = 0; level <= levels_.top(); ++level) {
      if (!levels_.skipped(level)) move_on(level);
    }
    return std::move(builder_).finish();
  }

 private:
  // The blocks for one destination that are at this rank, from all ranks of its unit.
  struct Row {
    int destination;
    Ref blocks;
  };

  static uint32_t chunk(int rank) { return static_cast<uint32_t>(rank); }
  static Lanes lanes_of(int level) { return {2 * level, 2 * level + 1}; }
  int goes_to(const Row& row, int level) const {
    return levels_.server(level, levels_.my_unit(level), paths_[row.destination]);
  }

  // What goes on further first, then what has arrived.
  void move_on(int level) {
    const Lanes lanes = lanes_of(level);
    builder_.wait(lanes.out, lanes_of(inside_).in, relayed_);
    builder_.wait(lanes.in, lanes_of(inside_).in, relayed_);
    if (source_) builder_.wait(lanes.in, lanes_of(first_).out, 1);
    std::vector<Row> next = rows_after(level);
    const int members = static_cast<int>(levels_.members(level).size()), me = levels_.member_of(rank_, level);
    const auto before = [&](int round) { return (me + members - round) % members; };
    const auto behind = [&](int round) { return (me + round) % members; };
    offsets_ = {0};
    for (int member = 0; member < members; ++member)
      offsets_.push_back(offsets_.back() + static_cast<uint32_t>(sources_of(level, member).size()));
    keep(level, next);
    for (int round = 1; round < members; ++round) send(level, behind(round), false);
    for (int round = 1; round < members && !next.empty(); ++round) receive(level, before(round), next);
    if (level < levels_.top()) inside_ = level, relayed_ = builder_.position(lanes.in);
    for (int round = 1; round < members; ++round) send(level, behind(round), true);
    for (int round = 1; round < members; ++round) deliver(level, before(round));
    here_ = std::move(next);
  }

  // What will pass through this rank: blocks for destinations outside its unit that are on its paths.
  std::vector<Row> rows_after(int level) {
    std::vector<Row> rows;
    if (level == levels_.top()) return rows;
    const int unit = levels_.my_unit(level);
    const auto sources = static_cast<uint32_t>(levels_.ranks_of(level, unit).size());
    for (int destination = 0; destination < static_cast<int>(paths_.size()); ++destination) {
      if (levels_.unit_of(destination, level) == unit) continue;
      if (levels_.server(level, unit, paths_[destination]) == rank_)
        rows.push_back({destination, scratch(builder_.allocate_scratch(sources))});
    }
    return rows;
  }

  // The ranks of a member of this rank's unit; their blocks stand together in a row.
  std::vector<int> sources_of(int level, int member) const {
    return levels_.ranks_of(level - 1, levels_.members(level)[member]);
  }

  // Rows that stay here.
  void keep(int level, const std::vector<Row>& next) {
    const int me = levels_.member_of(rank_, level);
    for (const Row& row : here_) {
      if (goes_to(row, level) != rank_) continue;
      const auto to = std::find_if(next.begin(), next.end(),
                                   [&](const Row& other) { return other.destination == row.destination; });
      builder_.copy(lanes_of(level).in, to->blocks.plus(offsets_[me]), row.blocks,
                    offsets_[me + 1] - offsets_[me], output(0));
    }
  }

  // Tags are destinations while blocks are on the way, sources at their end.
  void send(int level, int member, bool arrives) {
    const int lane = lanes_of(level).out;
    const std::vector<int> sources = sources_of(level, levels_.member_of(rank_, level));
    for (const Row& row : here_) {
      if (levels_.member_serving(level, paths_[row.destination][level]) != member) continue;
      const int to = goes_to(row, level);
      if ((to == row.destination) != arrives) continue;
      if (!arrives) {
        builder_.send(lane, to, row.blocks, row.destination, static_cast<uint32_t>(sources.size()),
                      output(0));
        continue;
      }
      Ref from = row.blocks;
      for (const Run run : runs_of_ranks(sources)) {
        builder_.send(lane, to, from, static_cast<int>(run.first), run.count, output(run.first));
        from = from.plus(run.count);
      }
    }
  }

  void receive(int level, int member, const std::vector<Row>& next) {
    for (const Row& row : next) {
      builder_.recv(lanes_of(level).in, sender(level, member, row.destination),
                    row.blocks.plus(offsets_[member]), row.destination,
                    offsets_[member + 1] - offsets_[member], output(0));
    }
  }

  void deliver(int level, int member) {
    for (const Run run : runs_of_ranks(sources_of(level, member))) {
      builder_.recv(lanes_of(level).in, sender(level, member, rank_), output(run.first),
                    static_cast<int>(run.first), run.count);
    }
  }

  int sender(int level, int member, int destination) const {
    return levels_.server(level - 1, levels_.members(level)[member], paths_[destination]);
  }

  static std::vector<Run> runs_of_ranks(const std::vector<int>& ranks) {
    return runs_of(std::vector<uint32_t>(ranks.begin(), ranks.end()));
  }

  const int rank_;
  const Levels levels_;
  Builder builder_;
  std::vector<Levels::Path> paths_;  // by rank
  std::optional<Ref> source_;        // the copy to send from; none: the input
  std::vector<Row> here_;
  std::vector<uint32_t> offsets_;  // by member of the level: of its blocks in a row
  int first_ = 0;                  // level that does something
  int inside_ = 0;
  uint32_t relayed_ = 0;
};

}  // namespace

Result<Schedule> hierarchical_all_to_all(const Shape& shape) {
  if (!shape.even) {
    return Status(Code::unsupported,
                  "hierarchical all_to_all needs blocks of equal length; use direct or pairwise");
  }
  return AllToAll(shape).build();
}

}  // namespace wia
