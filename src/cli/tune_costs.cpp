#include "cli/tune_costs.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>

#include "base/config.hpp"
#include "base/deadline.hpp"
#include "cli/bench_meeting.hpp"
#include "reduce/reducer.hpp"
#include "topology/file.hpp"

namespace wia::cli {
namespace {

constexpr int kMostRanks = 256;  // of more the links alone are many
constexpr uint64_t kLargestMessage = 4 << 20;
constexpr int kMessages = 200, kRepetitions = 9;  // of which the median counts

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Topology discover(wia_communicator_t* world, double seconds) {
  const int ranks = wia_size(world);
  wia_topology_options_t how = {};
  how.struct_size = sizeof how;
  how.measure = ranks > 1 && ranks <= kMostRanks;
  how.largest_bytes = kLargestMessage;
  how.budget_ms = std::max<int64_t>(static_cast<int64_t>(seconds * 1e3 / std::min(ranks * ranks, 256)), 1);
  const std::unique_ptr<wia_topology_t, decltype(&wia_topology_free)> found(
      wia_discover_topology_with(world, &how), &wia_topology_free);
  if (!found) throw std::runtime_error(wia_last_error_message());
  auto topology = topology_from_text(wia_topology_json(found.get()), "the topology");
  if (!topology) throw std::runtime_error(topology.status().text());
  return std::move(*topology);
}

// How long a sender is busy with a small message, while the receiver keeps up. Of ranks 0 and 1.
double message_us(wia_communicator_t* world) {
  const int rank = wia_rank(world);
  double value = 0;
  std::vector<double> times;
  for (int repetition = 0; repetition < kRepetitions && rank < 2; ++repetition) {
    const int64_t began = now_ns();
    for (int i = 0; i < kMessages; ++i)
      bench::must(rank == 0 ? wia_send(&value, 1, WIA_FLOAT64, 1, 0, world, nullptr)
                            : wia_recv(&value, 1, WIA_FLOAT64, 0, 0, world, nullptr));
    times.push_back(static_cast<double>(now_ns() - began) * 1e-3 / kMessages);
  }
  return times.empty() ? 0 : median(times);
}

// Of one rank: sums of two buffers that fit the caches.
double reduce_GBps() {
  constexpr size_t kCount = size_t{64} << 10;
  std::vector<float> a(kCount, 1), b(kCount, 2), sum(kCount);
  const auto reducer = Reducer::make(DType::float32, Op::sum, 2);
  const Source sources[] = {{a.data(), false}, {b.data(), false}};
  void* const destination = sum.data();
  std::vector<double> seconds;
  for (int repetition = 0; repetition < 5 * kRepetitions; ++repetition) {
    const int64_t began = now_ns();
    reducer.value()({sources, 2, &destination, 1, kCount, false});
    seconds.push_back(static_cast<double>(now_ns() - began) * 1e-9);
  }
  return static_cast<double>(kCount * sizeof(float)) * 1e-9 / median(seconds);
}

std::optional<WayCost> way_of(const Topology& topology, const std::vector<int>& nodes, bool within) {
  std::vector<double> alphas, bandwidths;
  for (const Link& link : topology.links) {
    const bool same = nodes[static_cast<size_t>(link.source)] == nodes[static_cast<size_t>(link.target)];
    if (link.source == link.target || same != within) continue;
    if (link.latency.value) alphas.push_back(*link.latency.value);
    if (link.bandwidth.value && *link.bandwidth.value > 0) bandwidths.push_back(*link.bandwidth.value);
  }
  if (alphas.empty() || bandwidths.empty()) return std::nullopt;
  return WayCost{median(alphas), median(bandwidths)};
}

}  // namespace

JobCosts measure_costs(wia_communicator_t* world, double seconds) {
  auto config = Config::from_environment();
  if (!config) throw std::runtime_error(config.status().text());
  const Topology topology = discover(world, seconds);
  JobCosts job;
  job.nodes = nodes_of(topology, wia_communicator_num_nodes(world), config->ranks_per_node);
  size_t fewest = SIZE_MAX;
  for (const Host& host : topology.hosts) fewest = std::min(fewest, host.used_nics.size());
  job.nics = topology.hosts.empty() ? 0 : static_cast<int>(fewest);
  job.costs = costs_of(topology, job.nodes);
  if (!job.costs) return job;
  job.costs->message_us = message_us(world);
  job.costs->reduce_GBps = reduce_GBps();
  return job;
}

std::vector<int> nodes_of(const Topology& topology, int num_nodes, int ranks_per_node) {
  const int ranks = topology.size();
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) {
    if (ranks_per_node > 0)
      nodes.push_back(rank / ranks_per_node);
    else  // where nothing is shared every rank is a node
      nodes.push_back(num_nodes == ranks ? rank : topology.endpoints[static_cast<size_t>(rank)].host);
  }
  const std::set<int> found(nodes.begin(), nodes.end());
  return static_cast<int>(found.size()) == num_nodes ? nodes : std::vector<int>();
}

std::optional<MachineCosts> costs_of(const Topology& topology, const std::vector<int>& nodes) {
  if (nodes.empty()) return std::nullopt;
  MachineCosts costs;
  const auto within = way_of(topology, nodes, true), between = way_of(topology, nodes, false);
  if (!within && !between) return std::nullopt;
  costs.node = within ? *within : *between;
  costs.network = between;
  return costs;
}

}  // namespace wia::cli
