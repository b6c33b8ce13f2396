#include "algorithms/level_phases.hpp"

#include <fmt/format.h>

#include <string>

namespace wia {
namespace {

void star_broadcast(Flow& flow, int root, Run run, Place from, Place to) {
  knomial_broadcast(flow, root, std::max(flow.size(), 2), run, from, to);
}
void star_reduce(Flow& flow, int root, uint32_t chunk, Place own, Place result) {
  knomial_reduce(flow, root, std::max(flow.size(), 2), chunk, own, result);
}
void binary_broadcast(Flow& flow, int root, Run run, Place from, Place to) {
  knomial_broadcast(flow, root, 2, run, from, to);
}
void binary_reduce(Flow& flow, int root, uint32_t chunk, Place own, Place result) {
  knomial_reduce(flow, root, 2, chunk, own, result);
}

using enum LevelAlgorithm;

constexpr LevelPhases kLevelPhases[] = {
    {direct, "direct", &kDirectPhases, star_broadcast, star_reduce},
    {pairwise, "pairwise", &kPairwisePhases, nullptr, nullptr},
    {ring, "ring", &kRingPhases, nullptr, nullptr},
    {halving_doubling, "halving_doubling", &kHalvingDoublingPhases, nullptr, nullptr},
    {recursive_doubling, "recursive_doubling", nullptr, nullptr, nullptr},
    {tree, "tree", nullptr, binary_broadcast, binary_reduce},
    {chain, "chain", nullptr, chain_broadcast, chain_reduce},
};

bool fits(Collective collective, const LevelPhases& phases, bool outermost) {
  switch (collective) {
    case Collective::all_reduce:
      return phases.exchange || (outermost && phases.algorithm == recursive_doubling);
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return phases.exchange != nullptr;
    case Collective::broadcast:
    case Collective::reduce:
      return outermost ? phases.broadcast != nullptr : phases.exchange != nullptr;
    default:
      return false;
  }
}

std::string names_for(Collective collective, bool outermost) {
  std::string names;
  for (const LevelPhases& phases : kLevelPhases) {
    if (fits(collective, phases, outermost))
      names += fmt::format("{}{}", names.empty() ? "" : ", ", phases.name);
  }
  return names;
}

const LevelPhases* find(std::string_view name) {
  for (const LevelPhases& phases : kLevelPhases) {
    if (phases.name == name) return &phases;
  }
  return nullptr;
}

const LevelPhases& phases_of(LevelAlgorithm algorithm) {
  return kLevelPhases[static_cast<size_t>(algorithm)];
}

}  // namespace

// In a group with a single level, what is named for the innermost is the outermost's.
const LevelPhases& phases_at(const Shape& shape, int level, int levels) {
  const LevelPhases& phases = phases_of(shape.level_algorithms.of(level, levels));
  return fits(shape.collective, phases, level == levels - 1) ? phases : phases_of(direct);
}

LevelLanes lanes_at(int level, int levels, const LevelPhases& phases, int members, size_t paths) {
  Streams streams = phases.exchange ? phases.exchange->streams(members) : Streams::one;
  if (streams == Streams::two && paths > 1) streams = Streams::one;
  const int out = 2 * level, back = 2 * (2 * levels - 1 - level);
  const Lanes outward{streams == Streams::one_lane ? out + 1 : out, out + 1};
  return {outward, streams == Streams::two ? Lanes{back, back + 1} : outward};
}

Result<LevelAlgorithms> parse_levels(Collective collective, std::string_view names) {
  if (names_for(collective, true).empty())
    return Status::error(Code::invalid_argument, "the levels of a hierarchical {} have no choice",
                         name_of(collective));
  LevelAlgorithms levels;
  for (bool last = false; !last;) {
    const size_t end = std::min(names.find(':'), names.size());
    last = end == names.size();
    const std::string_view name = names.substr(0, end);
    const LevelPhases* phases = find(name);
    if (!phases || !fits(collective, *phases, last))
      return Status::error(
          Code::invalid_argument, "\"{}\" is nothing that the {} of {} can run; there are: {}", name,
          last ? "outermost level" : "inner levels", name_of(collective), names_for(collective, last));
    if (levels.count == kMostLevels)
      return Status::error(Code::invalid_argument, "more than {} levels are named", kMostLevels);
    levels.named[levels.count++] = phases->algorithm;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return levels;
}

}  // namespace wia
