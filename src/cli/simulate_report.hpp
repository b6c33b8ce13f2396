// What `wia simulate` prints: a table for people, JSON for programs (schema wia.simulation/1).
#pragma once
#include <optional>
#include <string>

#include "base/json.hpp"
#include "simulate/simulation.hpp"

namespace wia::cli {

struct SimulatedRow {
  SimulatedCall call;
  SimulationResult result;
  bool chosen = false;              // among the library's own
  std::optional<double> vendor_us;  // of the healthy vendor; nothing: not known
};

std::string simulation_header(const MachineModel& model);
// Of rows that share collective and ranks.
std::string simulation_group_header(const MachineModel& model, const SimulatedCall& call);
std::string simulation_line(const SimulatedRow& row);
Json simulation_json(const MachineModel& model, const std::vector<SimulatedRow>& rows);

}  // namespace wia::cli
