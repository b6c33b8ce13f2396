#include "cli/tune_cells.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "algorithms/algorithm.hpp"
#include "base/machine.hpp"
#include "base/parse.hpp"
#include "cli/machine.hpp"
#include "cli/tune_look.hpp"
#include "dispatch/rules.hpp"
#include "verify/match.hpp"

namespace wia::cli {
namespace {

constexpr uint64_t kLeast = 8, kMost = 64 << 20, kStep = 4;
constexpr long double kPartOfMemory = 0.25;

// Of all ranks; nothing: it cannot be built.
std::optional<uint64_t> schedules_of(const Algorithm& algorithm, int ranks) {
  Shape shape;
  shape.collective = algorithm.collective;
  shape.ranks = ranks;
  std::vector<Schedule> schedules;
  for (shape.rank = 0; shape.rank < ranks; ++shape.rank) {
    auto built = algorithm.build(shape);
    if (!built) return std::nullopt;
    schedules.push_back(std::move(*built));
  }
  return fingerprint(schedules);
}

Group group_of(int ranks, int nodes, const JobCosts& job) {
  Group group;
  group.ranks = ranks;
  group.nodes = job.nodes;
  if (nodes > 1) group.units = {job.nodes};
  return group;
}

bool fits(uint64_t bytes, const std::vector<Collective>& collectives, int ranks, long double memory) {
  return std::all_of(collectives.begin(), collectives.end(), [&](Collective collective) {
    return bench::memory_of(tuned_call(collective, bytes, ranks), ranks) <= memory;
  });
}

}  // namespace

TuneCells::TuneCells(int ranks, int nodes, const JobCosts& job, const Config& config)
    : ranks_(ranks),
      nodes_(nodes),
      nics_(nodes > 1 ? job.nics : 0),
      deterministic_(config.deterministic),
      compares_(nodes == 1 && config.levels.empty()),
      costs_(config.levels.empty() && !job.nodes.empty() ? job.costs : std::nullopt),
      group_(group_of(ranks, nodes, job)) {}

MeasuredCell TuneCells::make(Collective collective, double bytes) {
  MeasuredCell cell;
  cell.collective = collective;
  const auto rounded = tuned_call(collective, static_cast<uint64_t>(bytes), ranks_).bytes;
  cell.call.bytes = static_cast<double>(rounded);
  cell.call.ranks = ranks_;
  cell.call.nodes = nodes_;
  if (ranks_ % nodes_ == 0) cell.call.ranks_per_node = ranks_ / nodes_;
  if (nics_ > 0) cell.call.nics_per_node = nics_;
  const std::string untuned =
      choose_by_rules(collective, rounded, ranks_, nodes_, true, deterministic_).algorithm;
  const std::vector<Way>& all = ways(collective);
  cell.classes.push_back({.name = untuned});
  std::vector<uint64_t> seen;
  for (const Way& way : all)
    if (way.name == untuned) seen.push_back(way.schedules);
  for (const Way& way : all) {
    if (std::find(seen.begin(), seen.end(), way.schedules) != seen.end()) continue;
    seen.push_back(way.schedules);
    cell.classes.push_back({.name = way.name});
  }
  predict(cell);
  return cell;
}

void TuneCells::predict(MeasuredCell& cell) {
  if (!costs_) return;
  const auto model = models_.try_emplace(cell.collective, cell.collective, group_, *costs_).first;
  for (const auto& [name, time_us] : model->second.predict(cell.call))
    for (MeasuredClass& one : cell.classes)
      if (one.name == name) one.predicted_us = time_us;
}

const std::vector<TuneCells::Way>& TuneCells::ways(Collective collective) {
  auto [place, is_new] = ways_.try_emplace(collective);
  if (!is_new) return place->second;
  for (const Algorithm* algorithm : algorithms_of(collective)) {
    if (deterministic_ && reduces(collective) && !algorithm->rank_order) continue;
    const uint64_t own = place->second.size();  // differs from all others
    if (!compares_)
      place->second.push_back({algorithm->name, own});
    else if (const auto schedules = schedules_of(*algorithm, ranks_))
      place->second.push_back({algorithm->name, *schedules});
  }
  return place->second;
}

std::vector<Collective> tuned_collectives(const std::string& text) {
  std::vector<Collective> collectives;
  for (const bench::Kind kind : bench::read_kinds(lower_case(text)))
    if (kind && algorithms_of(*kind).size() > 1 &&
        std::find(collectives.begin(), collectives.end(), *kind) == collectives.end())
      collectives.push_back(*kind);
  if (collectives.empty())
    throw CLI::ValidationError("COLLECTIVE", fmt::format("\"{}\": there is nothing to choose from", text));
  return collectives;
}

std::vector<uint64_t> tuned_sizes(const std::string& text, const std::vector<Collective>& collectives,
                                  int ranks) {
  const auto available = static_cast<long double>(memory().available.value_or(UINT64_MAX));
  std::vector<uint64_t> sizes;
  if (text.empty()) {
    const long double memory = available * kPartOfMemory;
    for (uint64_t bytes = kLeast; bytes < kMost; bytes *= kStep)
      if (fits(bytes, collectives, ranks, memory)) sizes.push_back(bytes);
    if (fits(kMost, collectives, ranks, memory)) sizes.push_back(kMost);
    return sizes;
  }
  sizes = bench::read_sizes("--sizes", text);
  for (const uint64_t bytes : sizes)
    if (bytes == 0 || !fits(bytes, collectives, ranks, available))
      throw CLI::ValidationError(
          "--sizes", fmt::format("{} bytes on {} ranks: {}", bytes, ranks,
                                 bytes == 0 ? "there is nothing to choose for"
                                            : "more memory is needed than there is (" +
                                                  bytes_text(static_cast<double>(available)) + ")"));
  return sizes;
}

}  // namespace wia::cli
