#include "simulate/simulation.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "engine/execution.hpp"
#include "simulate/simulated_world.hpp"

namespace wia {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Simulation {
 public:
  Simulation(const MachineModel& model, const SimulatedPlan& plan, int ranks, Trace* trace)
      : plan_(plan), world_(model, ranks, trace), ranks_(static_cast<size_t>(ranks)), running_(ranks) {}

  Status run() {
    world_.run([&](int rank) { step(rank); });
    if (!failure_.ok()) return std::move(failure_);
    if (running_ > 0) return stuck();
    if (world_.undelivered() > 0)
      return Status::error(Code::protocol, "{} messages are left over", world_.undelivered());
    return {};
  }

  Moment end() const {
    Moment end;
    for (size_t r = 0; r < ranks_.size(); ++r) end.continue_from(world_.now(static_cast<int>(r)));
    return end;
  }
  uint64_t messages() const { return world_.messages(); }
  uint64_t operations() const { return world_.operations(); }

 private:
  struct Rank {
    size_t stage = 0;
    bool begun = false;
    std::unique_ptr<SimulatedEndpoint> endpoint;
    std::unique_ptr<Execution> execution;
  };

  void step(int r) {
    Rank& rank = ranks_[static_cast<size_t>(r)];
    while (rank.stage < plan_.stages.size() && failure_.ok()) {
      if (!rank.begun) begin(r);
      if (rank.execution && !advance(r)) return;
      rank.execution.reset(), rank.endpoint.reset();
      rank.begun = false;
      if (++rank.stage == plan_.stages.size()) --running_;
    }
  }

  void begin(int r) {
    Rank& rank = ranks_[static_cast<size_t>(r)];
    const SimulatedStage& stage = plan_.stages[rank.stage];
    rank.begun = true;
    world_.charge_call(r);
    if (stage.copied_bytes > 0) return world_.charge_copy(r, stage.copied_bytes);
    const auto [team, member] = stage.seat_of(r);
    rank.endpoint = std::make_unique<SimulatedEndpoint>(world_, *team, member);
    rank.execution = std::make_unique<Execution>(*rank.endpoint, rank.endpoint.get());
    CallSignature call;
    call.sequence = rank.stage + 1;
    rank.execution->start(stage.schedules[static_cast<size_t>(member)],
                          stage.bindings[static_cast<size_t>(member)], call);
  }

  // Whether the rank is done with its stage.
  bool advance(int r) {
    Execution& execution = *ranks_[static_cast<size_t>(r)].execution;
    for (;;) {
      world_.begin_polling(r);
      switch (execution.advance()) {
        case Execution::State::moved:
          continue;
        case Execution::State::waiting:
          return false;
        case Execution::State::done:
          return true;
        case Execution::State::failed:
          failure_ = Status::error(execution.status().code(), "rank {}: {} ({})", r,
                                   execution.status().text(), execution.cursors());
          return false;
      }
    }
  }

  Status stuck() const {
    std::string text = fmt::format("deadlock: {} ranks cannot end", running_);
    int shown = 0;
    for (size_t r = 0; r < ranks_.size() && shown < 8; ++r) {
      if (!ranks_[r].execution) continue;
      ++shown;
      text +=
          fmt::format("\n  rank {} waits for {}: {}", r, fmt::join(ranks_[r].execution->waiting_for(), ", "),
                      ranks_[r].execution->cursors());
    }
    return Status(Code::protocol, text);
  }

  const SimulatedPlan& plan_;
  SimulatedWorld world_;
  std::vector<Rank> ranks_;
  int running_;
  Status failure_;
};

}  // namespace

Result<SimulationResult> simulate(const MachineModel& model, const SimulatedCall& call,
                                  const std::string& algorithm, Slicing slicing, Trace* trace) {
  const auto begin = std::chrono::steady_clock::now();
  auto plan = make_plan(model, call, algorithm, slicing);
  if (!plan) return plan.take_status();
  Simulation simulation(model, *plan, call.ranks, trace);
  if (Status status = simulation.run(); !status.ok()) return status;
  SimulationResult result;
  result.algorithm = plan->algorithm;
  result.end = simulation.end();
  result.messages = simulation.messages();
  result.operations = simulation.operations();
  result.slices = plan->slices;
  result.slicing = slicing;
  result.seconds = seconds_since(begin);
  return result;
}

SimulationResult simulate_vendor(const MachineModel& model, const SimulatedCall& call,
                                 const VendorModel& vendor) {
  const double steps = (call.collective == Collective::all_reduce ? 2.0 : 1.0) * (call.ranks - 1);
  const double block = static_cast<double>(call.bytes) / call.ranks;
  SimulationResult result;
  result.algorithm = vendor.algorithm();
  result.end.add(Cost::latency, model.call_us.value.value_or(0) + steps * vendor.step_us.value.value_or(0));
  result.end.add(call.ranks > model.ranks_per_node ? Cost::nic : Cost::links,
                 steps * block * us_per_byte(vendor.bandwidth_GBps));
  return result;
}

std::vector<SimulatedCandidate> candidates(const SimulatedCall& call) {
  constexpr int kManyRanks = 512;
  std::vector<std::string> names;
  if (call.collective == Collective::all_reduce)
    names = {"hierarchical", "hierarchical_ring", "hierarchical:ring:halving_doubling"};
  else if (call.collective != Collective::all_gather && call.collective != Collective::reduce_scatter)
    for (const Algorithm* algorithm : algorithms_of(call.collective)) names.emplace_back(algorithm->name);
  else if (call.ranks <= kManyRanks)
    names = {"hierarchical", "hierarchical_ring", "halving_doubling"};
  else
    names = {"hierarchical", "halving_doubling"};
  std::vector<SimulatedCandidate> list;
  for (const std::string& name : names) {
    list.push_back({name, Slicing::whole});
    if (call.collective == Collective::all_reduce || call.ranks <= kManyRanks)
      list.push_back({name, Slicing::library});
  }
  return list;
}

Result<SimulationResult> simulate_best(const MachineModel& model, const SimulatedCall& call) {
  std::optional<SimulationResult> best;
  double seconds = 0;
  for (const SimulatedCandidate& candidate : candidates(call)) {
    auto result = simulate(model, call, candidate.algorithm, candidate.slicing);
    if (!result) return result;
    seconds += result->seconds;
    if (!best || result->end.us < best->end.us) best = std::move(*result);
  }
  best->seconds = seconds;
  return std::move(*best);
}

}  // namespace wia
