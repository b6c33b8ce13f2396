#include "dispatch/features.hpp"

#include <algorithm>
#include <cmath>

namespace wia {
namespace {

constexpr double kMany = 1e9;

constexpr Quantity kQuantities[] = {
    {"bytes", &CallShape::bytes, 0, 9e15, true},
    {"ranks", &CallShape::ranks, 1, kMany, true},
    {"nodes", &CallShape::nodes, 1, kMany, true},
    {"ranks_per_node", &CallShape::ranks_per_node, 1, kMany, false},
    {"nics_per_node", &CallShape::nics_per_node, 0, kMany, false},
    {"alpha_us", &CallShape::alpha_us, 0, kMany, false},
    {"bandwidth_GBps", &CallShape::bandwidth_GBps, 0, kMany, false},
    {"dtype_bytes", &CallShape::dtype_bytes, 1, 64, true},
};

// What matters goes by factors: twice the bytes, half the ranks.
double log2_of(double value) { return value <= 1 ? 0 : std::log2(value); }  // NaN stays

constexpr Feature kFeatures[] = {
    {"log2_bytes", "bytes", [](const CallShape& call) { return log2_of(call.bytes); }},
    {"log2_ranks", "ranks", [](const CallShape& call) { return log2_of(call.ranks); }},
    {"log2_block_bytes", "bytes / ranks, the length of most messages",
     [](const CallShape& call) { return log2_of(call.bytes / call.ranks); }},
    {"several_nodes", "0: one node, 1: more",
     [](const CallShape& call) {
       return std::isnan(nodes_of(call)) ? kUnknown : nodes_of(call) > 1 ? 1.0 : 0.0;
     }},
    {"log2_nodes", "nodes", [](const CallShape& call) { return log2_of(nodes_of(call)); }},
    {"log2_ranks_per_node", "ranks a node",
     [](const CallShape& call) { return log2_of(call.ranks_per_node); }},
    {"log2_nics_per_node", "NICs a node", [](const CallShape& call) { return log2_of(call.nics_per_node); }},
    {"log2_alpha_ns", "latency between nodes",
     [](const CallShape& call) { return log2_of(call.alpha_us * 1e3); }},
    {"log2_bandwidth_MBps", "bandwidth between nodes",
     [](const CallShape& call) { return log2_of(call.bandwidth_GBps * 1e3); }},
    {"log2_dtype_bytes", "bytes of an element",
     [](const CallShape& call) { return log2_of(call.dtype_bytes); }},
};

}  // namespace

double nodes_of(const CallShape& call) {
  return std::isnan(call.nodes) ? std::ceil(call.ranks / call.ranks_per_node) : call.nodes;
}

std::span<const Quantity> call_quantities() { return kQuantities; }
std::span<const Feature> call_features() { return kFeatures; }

const Feature* find_feature(std::string_view name) {
  const auto found = std::find_if(std::begin(kFeatures), std::end(kFeatures),
                                  [&](const Feature& feature) { return name == feature.name; });
  return found == std::end(kFeatures) ? nullptr : found;
}

}  // namespace wia
