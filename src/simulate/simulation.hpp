// Simulates a collective call of many ranks on a machine: the engine runs the schedules of all of them, under
// a clock and a network that are simulated. docs/simulation.md describes the model.
//
// The same input gives the same result, to the last bit. The functions may be called by several threads at a
// time.
#pragma once
#include "simulate/moment.hpp"
#include "simulate/plan.hpp"
#include "simulate/trace.hpp"

namespace wia {

struct SimulationResult {
  std::string algorithm;
  Moment end;               // of the rank that ends last, and what its time went into
  uint64_t messages = 0;    // 0: none was simulated (vendor)
  uint64_t operations = 0;  // events, and looks for messages: what the simulation's time consists of
  uint32_t slices = 1;
  Slicing slicing = Slicing::library;
  double seconds = 0;  // that the simulation took
};

// A name of the table, or pccl. `trace` may be null. Errors: what does not go with what; a schedule that
// cannot end.
Result<SimulationResult> simulate(const MachineModel& model, const SimulatedCall& call,
                                  const std::string& algorithm, Slicing slicing = Slicing::library,
                                  Trace* trace = nullptr);

// The vendor's library, by a formula: steps * (step_us + bytes / ranks / bandwidth), of 2 (ranks - 1) steps
// for all_reduce, else ranks - 1.
SimulationResult simulate_vendor(const MachineModel& model, const SimulatedCall& call,
                                 const VendorModel& vendor);

// The algorithms of the library that are worth a try where nobody has measured. With many ranks an all_gather
// or a reduce_scatter consists of so many blocks that slices would only cost time.
struct SimulatedCandidate {
  std::string algorithm;
  Slicing slicing;
};
std::vector<SimulatedCandidate> candidates(const SimulatedCall& call);
// The fastest of them in simulation: what a well-trained library would choose.
Result<SimulationResult> simulate_best(const MachineModel& model, const SimulatedCall& call);

}  // namespace wia
