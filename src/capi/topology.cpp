// 6.2: what is connected to what.
#include <fmt/core.h>

#include <cstring>
#include <limits>

#include "base/fork.hpp"
#include "capi/handles.hpp"
#include "communicator/measure_topology.hpp"
#include "topology/discover.hpp"
#include "topology/file.hpp"

using namespace wia;
using namespace wia::capi;

namespace {

static_assert(static_cast<int>(LinkType::network) == WIA_CONNECTION_NETWORK && kNumLinkTypes == 7);

wia_topology_t* null_topology(Status status) { return null<wia_topology_t>(std::move(status)); }

std::unique_ptr<wia_topology> hold(const std::shared_ptr<const Topology>& topology) {
  return std::make_unique<wia_topology>(wia_topology{topology, to_text(*topology)});
}

// Fields that the caller's version of the struct lacks keep their defaults.
Status read(const wia_topology_options_t* given, MeasureOptions* options) {
  wia_topology_options_t all = {sizeof all, true, 0, 0, nullptr, nullptr};
  if (given) {
    if (given->struct_size < offsetof(wia_topology_options_t, largest_bytes) ||
        given->struct_size > sizeof all)
      return Status::error(Code::invalid_argument,
                           "struct_size is {}; wanted is sizeof(wia_topology_options_t), {}",
                           given->struct_size, sizeof all);
    std::memcpy(&all, given, given->struct_size);
  }
  if (all.budget_ms < 0)
    return Status::error(Code::invalid_argument, "budget_ms is {}; legal are 0 and above", all.budget_ms);
  options->measure = all.measure;
  if (all.largest_bytes > 0) options->largest_bytes = all.largest_bytes;
  if (all.budget_ms > 0) options->budget_ms = all.budget_ms;
  if (all.progress)
    options->progress = [=](int done, int pairs) { all.progress(done, pairs, all.progress_context); };
  return {};
}

Result<Topology> discover(Communicator* communicator, const MeasureOptions& options) {
  if (communicator) return measure_topology(*communicator, options);
  if (in_forked_child()) return forked_status();
  auto config = Config::from_environment();
  if (!config) return config.take_status();
  return discover_devices(config->nic);
}

// Null, after reporting why, where an argument is wrong.
const Link* find(const wia_topology_t* topology, int source, int target) {
  if (!topology) return null<const Link>(Status(Code::invalid_argument, "topology is NULL"));
  const int devices = topology->topology->size();
  for (const auto& [name, value] : {std::pair("source", source), std::pair("target", target)})
    if (value < 0 || value >= devices)
      return null<const Link>(
          Status::error(Code::invalid_argument, "{} is {}; legal are 0 to {}", name, value, devices - 1));
  return &topology->topology->link(source, target);
}

float value_of(const Figure& figure) {
  return static_cast<float>(figure.value.value_or(std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace

extern "C" {

wia_topology_t* wia_discover_topology(wia_communicator_t* comm) {
  return wia_discover_topology_with(comm, nullptr);
}

wia_topology_t* wia_discover_topology_with(wia_communicator_t* comm, const wia_topology_options_t* given) {
  Communicator* c = comm ? resolve(comm) : nullptr;
  if (comm && !c) return nullptr;
  MeasureOptions options;
  if (Status status = read(given, &options); !status.ok()) return null_topology(std::move(status));
  auto found = discover(c, options);
  if (!found) return null_topology(found.take_status());
  const auto topology = std::make_shared<const Topology>(std::move(*found));
  if (comm) show_topology(comm, hold(topology));
  return hold(topology).release();
}

int wia_topology_num_devices(const wia_topology_t* topology) {
  if (!topology) return report(Status(Code::invalid_argument, "topology is NULL")), -1;
  return topology->topology->size();
}

wia_status_t wia_topology_link(const wia_topology_t* topology, int source, int target, DeviceLink* link) {
  const Link* found = find(topology, source, target);
  if (!found) return wia_last_error();
  if (!link) return report(Status(Code::invalid_argument, "link is NULL"));
  *link = {source,
           target,
           value_of(found->bandwidth),
           value_of(found->latency),
           static_cast<ConnectionType>(found->type),
           found->peer_access.value_or(false)};
  return WIA_SUCCESS;
}

wia_evidence_t wia_topology_evidence(const wia_topology_t* topology, int source, int target,
                                     wia_figure_t which) {
  const Link* found = find(topology, source, target);
  if (!found) return WIA_EVIDENCE_UNKNOWN;
  const Figure& figure = which == WIA_FIGURE_LATENCY ? found->latency : found->bandwidth;
  if (!figure.value) return WIA_EVIDENCE_UNKNOWN;
  return static_cast<wia_evidence_t>(WIA_EVIDENCE_MEASURED + static_cast<int>(figure.evidence));
}

const char* wia_topology_json(const wia_topology_t* topology) {
  if (!topology) return null<const char>(Status(Code::invalid_argument, "topology is NULL"));
  return topology->json.c_str();
}

wia_status_t wia_topology_write(const wia_topology_t* topology, const char* file) {
  if (!topology || !file)
    return report(Status::error(Code::invalid_argument, "{} is NULL", topology ? "file" : "topology"));
  return report(write_topology(*topology->topology, file));
}

wia_topology_t* wia_topology_read(const char* file) {
  if (!file) return null_topology(Status(Code::invalid_argument, "file is NULL"));
  auto topology = read_topology(file);
  if (!topology) return null_topology(topology.take_status());
  return hold(std::make_shared<const Topology>(std::move(*topology))).release();
}

void wia_topology_free(wia_topology_t* topology) { delete topology; }

const char* wia_connection_type_str(ConnectionType type) {
  return static_cast<unsigned>(type) < kNumLinkTypes ? link_type_name(static_cast<LinkType>(type)) : "?";
}

}  // extern "C"
