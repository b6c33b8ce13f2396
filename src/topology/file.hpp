// Topology as JSON, schema "wia.topology/1": docs/formats/topology.md.
//
// Pure but for the functions that take a path. Thread safe. What is read is whole or refused: errors
// (Code::invalid_argument; Code::system where the file cannot be read or written) name the file and the place
// in it.
#pragma once
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "topology/topology.hpp"

namespace wia {

std::string to_text(const Topology& topology);
Status write_topology(const Topology& topology, const std::string& path);  // "-": to stdout

// `name` stands for the text in errors.
Result<Topology> topology_from_text(std::string_view text, const std::string& name);
Result<Topology> read_topology(const std::string& path);

// Between the ranks.
std::string to_text(const TopologyPart& part);
Result<TopologyPart> part_from_text(std::string_view text, const std::string& name);

}  // namespace wia
