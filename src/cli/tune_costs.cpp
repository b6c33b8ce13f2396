#include "cli/tune_costs.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>

#include "base/config.hpp"
#include "base/deadline.hpp"
#include "base/median.hpp"
#include "reduce/reducer.hpp"
#include "topology/file.hpp"

namespace wia::cli {
namespace {

constexpr int kMostRanks = 256;  // of more the links alone are many
constexpr uint64_t kLargestMessage = 4 << 20;
constexpr int kRepetitions = 45;  // of which the median counts

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

// Of one rank: sums of two buffers that fit the caches.
double reduce_GBps() {
  constexpr size_t kCount = size_t{64} << 10;
  std::vector<float> a(kCount, 1), b(kCount, 2), sum(kCount);
  const auto reducer = Reducer::make(DType::float32, Op::sum, 2);
  const Source sources[] = {{a.data(), false}, {b.data(), false}};
  void* const destination = sum.data();
  std::vector<double> seconds;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const int64_t began = now_ns();
    reducer.value()({sources, 2, &destination, 1, kCount, false});
    seconds.push_back(static_cast<double>(now_ns() - began) * 1e-9);
  }
  return static_cast<double>(kCount * sizeof(float)) * 1e-9 / median(seconds);
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
  job.costs = costs_from(topology, reduce_GBps());
  // Nodes that are only imposed are as far from one another as ranks of a host are.
  if (job.costs && !job.costs->network && wia_communicator_num_nodes(world) > 1)
    job.costs->network = job.costs->node;
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

}  // namespace wia::cli
