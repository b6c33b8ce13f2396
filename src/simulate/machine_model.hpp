// A machine as the simulator sees it: levels with latencies and bandwidths, what work costs a rank, and how
// the library of the vendor behaves there. Pure data; a file of machines/ (docs/formats/machine.md) or a
// measured topology fills it.
//
// Values; thread safe but for find_machine_model(path), which reads a file. Units: us, GB/s = 10^9 bytes a
// second. What is read is whole or refused: errors (Code::invalid_argument) name the file and the place in
// it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "schedule/collective.hpp"
#include "topology/topology.hpp"

namespace wia {

// From one rank to another: a message of b bytes takes alpha + b / bandwidth, where nobody else is on the
// way.
struct Way {
  Figure alpha_us, bandwidth_GBps;
};

// The library of the vendor: a flat ring whose every step costs step_us + bytes / bandwidth.
struct VendorModel {
  std::string name;  // "healthy", "pathological"
  Collective collective = Collective::all_reduce;
  Figure step_us, bandwidth_GBps;
  // Among algorithms: "vendor", "vendor-pathological".
  std::string algorithm() const { return name == "healthy" ? "vendor" : "vendor-" + name; }
};

struct MachineModel {
  std::string name, description;
  int ranks_per_node = 1, nics_per_node = 0;
  // Between two ranks of a node; every rank has a port out and a port in of that bandwidth. Unknown only
  // where a node has one rank.
  Way node;
  Figure node_total_GBps;  // all ranks of a node together; unknown: no limit
  // Between nodes: the bandwidth of one NIC and direction. Rank r of a node uses NIC r * nics /
  // ranks_per_node; where there are more NICs than ranks it stripes over its share. Unknown: the machine is
  // one node.
  Way network;
  Figure overhead_us;               // a rank is busy so long for each message that it sends or receives
  Figure reduce_GBps, copy_GBps;    // of the result, written by one rank: a sum of two; a copy
  Figure call_us;                   // what a call costs before its first message
  int nodes_per_group = 0;          // of a dragonfly; 0: no groups
  Figure group_GBps;                // into a group, and out of it; unknown: no limit
  std::optional<int> shared_cores;  // emulated clusters: all ranks of all nodes work on so many cores
  uint64_t slice_bytes = 0;         // the largest slice of a chunk; 0: the library's own limit
  std::vector<VendorModel> vendors;

  bool one_node() const { return !network.bandwidth_GBps.value; }
  const VendorModel* vendor(Collective collective, std::string_view vendor_name) const;  // null: none
};

// `name` stands for the text in errors.
Result<MachineModel> machine_model_from_text(std::string_view text, const std::string& name);

// A level gets the medians of its links' figures; those that were measured, if any were. What a topology does
// not tell is assumed, and says so. Errors name `name`.
Result<MachineModel> machine_model_of(const Topology& topology, const std::string& name);

// The machines that are built in, by name: "frontier".
std::vector<std::string> machine_names();
// One of them, or a file: a machine, or a topology (schema wia.topology/1).
Result<MachineModel> find_machine_model(const std::string& name_or_path);

}  // namespace wia
