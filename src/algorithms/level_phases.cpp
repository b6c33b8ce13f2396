#include "algorithms/level_phases.hpp"

#include <fmt/format.h>

#include <string>

namespace wia {
namespace {

Streams one_message_a_phase(int) { return Streams::two; }

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
    {direct, "direct", direct_reduce_scatter, direct_all_gather, one_message_a_phase, star_broadcast,
     star_reduce},
    {pairwise, "pairwise", pairwise_reduce_scatter, pairwise_all_gather, one_message_a_phase, nullptr,
     nullptr},
    {ring, "ring", ring_reduce_scatter, ring_all_gather, [](int n) { return kRingPhases.streams(n); },
     nullptr, nullptr},
    {halving_doubling, "halving_doubling", halving_reduce_scatter, doubling_all_gather,
     [](int n) { return kHalvingDoublingPhases.streams(n); }, nullptr, nullptr},
    {recursive_doubling, "recursive_doubling", nullptr, nullptr, nullptr, nullptr, nullptr},
    {tree, "tree", nullptr, nullptr, nullptr, binary_broadcast, binary_reduce},
    {chain, "chain", nullptr, nullptr, nullptr, chain_broadcast, chain_reduce},
};

bool fits(Collective collective, const LevelPhases& phases, bool outermost) {
  switch (collective) {
    case Collective::all_reduce:
      return phases.reduce_scatter || (outermost && phases.algorithm == recursive_doubling);
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return phases.reduce_scatter != nullptr;
    case Collective::broadcast:
    case Collective::reduce:
      return outermost ? phases.broadcast != nullptr : phases.reduce_scatter != nullptr;
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

}  // namespace

const LevelPhases& phases_of(LevelAlgorithm algorithm) {
  return kLevelPhases[static_cast<size_t>(algorithm)];
}

// In a group with a single level, what is named for the innermost is the outermost's.
const LevelPhases& phases_at(const Shape& shape, int level, int levels) {
  const LevelPhases& phases = phases_of(shape.level_algorithms.of(level, levels));
  return fits(shape.collective, phases, level == levels - 1) ? phases : phases_of(direct);
}

LevelLanes lanes_at(int level, int levels, const LevelPhases& phases, int members, size_t paths) {
  Streams streams = phases.streams ? phases.streams(members) : Streams::one;
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
