// What the ranks of a simulated call run, by the name of an algorithm: stages one after the other, each a
// schedule for every member of a team, with its binding.
//
//   a name of the table   one stage of all ranks, sliced as the library slices
//   pccl                  the algorithm of the PCCL paper (arXiv 2504.18658) as published: a ring inside the
//                         nodes and recursive doubling or halving across them, one level after the other, and
//                         the shuffle of the whole buffer between its order and the call's
//   pccl_ring             the same with a ring across nodes: as its measured times grow
//
// Read only when made; then safe to share.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "engine/binding.hpp"
#include "simulate/machine_model.hpp"
#include "simulate/simulated_endpoint.hpp"

namespace wia {

struct SimulatedCall {
  Collective collective = Collective::all_reduce;
  int ranks = 1;
  uint64_t bytes = 0;  // as design counts them: a rank's buffer; the whole output of all_gather, the whole
                       // input of reduce_scatter
};

struct SimulatedStage {
  std::vector<RankTeam> teams;      // each rank is in one
  std::vector<Schedule> schedules;  // by member
  std::vector<Binding> bindings;    // by member
  size_t copied_bytes = 0;          // by each rank, instead of a schedule: a shuffle

  // The team and the place in it of a rank.
  struct Seat {
    const RankTeam* team;
    int member;
  };
  Seat seat_of(int rank) const;
};

struct SimulatedPlan {
  std::string algorithm;
  std::vector<SimulatedStage> stages;
  uint32_t slices = 1;  // of the stage that has the most
  std::unique_ptr<Reducer> reducer;
};

// The names beside the table's that simulate a stage or more.
inline constexpr std::string_view kPccl = "pccl", kPcclRing = "pccl_ring";

// Of a name of the table: as the library slices, or each chunk whole.
enum class Slicing { library, whole };
// Buffers hold float32. Errors say what does not go with what.
Result<SimulatedPlan> make_plan(const MachineModel& model, const SimulatedCall& call,
                                const std::string& algorithm, Slicing slicing = Slicing::library);

}  // namespace wia
