#include <fmt/core.h>

#include "base/json.hpp"
#include "topology/file.hpp"

namespace wia {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const NicAddress& address);
Json json_of(const Nic& nic);
Json json_of(const NumaNode& node);
Json json_of(const Device& device);
Json json_of(const Host& host);
Json json_of(const LinkEnd& endpoint);
Json json_of(const Link& link);

template <class Range>
Json array_of(const Range& items) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(json_of(item));
  return array;
}

Json json_of(const Figure& figure) {
  Json json = {{"value", or_null(figure.value)},
               {"evidence", evidence_name(figure.evidence)},
               {"source", figure.source}};
  if (figure.evidence == Evidence::measured) {
    json["bytes"] = figure.bytes;
    json["repetitions"] = figure.repetitions;
    json["when"] = figure.when;
    json["spread"] = figure.spread;
  }
  return json;
}

Json json_of(const NicAddress& address) {
  return fmt::format("{}/{}", address.text(), address.prefix_length);
}

Json json_of(const Nic& nic) {
  Json speed = nullptr;
  if (nic.speed_mbps) speed = json_of(Figure::reported(nic.gigabytes_per_second(), nic.speed_source()));
  return {{"name", nic.name},
          {"index", nic.index},
          {"up", nic.up},
          {"loopback", nic.loopback},
          {"bridge", nic.bridge},
          {"virtual", nic.virtual_device},
          {"addresses", array_of(nic.addresses)},
          {"speed", speed},
          {"mtu", nic.mtu},
          {"numa_node", or_null(nic.numa_node)},
          {"pci", nic.pci}};
}

Json json_of(const NumaNode& node) {
  return {{"index", node.index}, {"cpus", node.cpus}, {"memory_bytes", or_null(node.memory_bytes)}};
}

Json json_of(const Device& device) {
  return {{"kind", device.accelerator ? "accelerator" : "numa_node"},
          {"name", device.name},
          {"pci", device.pci},
          {"numa_node", or_null(device.numa_node)}};
}

Json json_of(const Host& host) {
  return {{"id", host.id},
          {"name", host.name},
          {"cpus", host.cpus},
          {"cpu_quota", or_null(host.cpu_quota)},
          {"numa_nodes", array_of(host.numa_nodes)},
          {"devices", array_of(host.devices)},
          {"nics", array_of(host.nics)},
          {"used_nics", host.used_nics}};
}

Json json_of(const LinkEnd& endpoint) {
  return {{"host", endpoint.host},
          {"device", or_null(endpoint.device)},
          {"numa_node", or_null(endpoint.numa_node)},
          {"cpus", endpoint.cpus}};
}

Json json_of(const Link& link) {
  return {{"source", link.source},
          {"target", link.target},
          {"type", link_type_name(link.type)},
          {"level", level_name(level_of(link.type))},
          {"peer_access", or_null(link.peer_access)},
          {"bandwidth_GBps", json_of(link.bandwidth)},
          {"latency_us", json_of(link.latency)},
          {"rated_GBps", link.rated ? json_of(*link.rated) : Json(nullptr)},
          {"nics", link.nics}};
}

Json json_of(const Topology& topology) {
  return {{"schema", "wia.topology/1"},
          {"created", topology.created},
          {"endpoints_are", topology.of_devices ? "devices" : "ranks"},
          {"hosts", array_of(topology.hosts)},
          {"endpoints", array_of(topology.endpoints)},
          {"links", array_of(topology.links)}};
}

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_text(const Topology& topology) { return dumped(json_of(topology)); }

std::string to_text(const TopologyPart& part) {
  return dumped(
      {{"host", json_of(part.host)}, {"endpoint", json_of(part.endpoint)}, {"links", array_of(part.links)}});
}

Status write_topology(const Topology& topology, const std::string& path) {
  try {
    write_json(json_of(topology), path);
  } catch (const std::runtime_error& error) {
    return Status(Code::system, error.what());
  }
  return {};
}

}  // namespace wia
