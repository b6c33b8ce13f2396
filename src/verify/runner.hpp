// Runs the schedules of all ranks in one thread with the engine that also runs them for real, in a chosen
// order.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "engine/execution.hpp"
#include "transport/loop.hpp"
#include "verify/case.hpp"
#include "verify/case_data.hpp"

namespace wia {

class Runner {
 public:
  Runner(int ranks, const LoopOptions& options);
  const LoopOptions& transport() const { return group_.options(); }

  // Status: the call ended on every rank and nothing is left on the way; else who waits where. After an error
  // the runner is of no more use. `barrier`: nobody may be done before all have begun.
  Status run(std::span<const Schedule> schedules, const CaseData& data, const Variant& variant, bool barrier);

 private:
  enum class Rank : uint8_t { waiting_to_begin, running, done };

  // All return whether something moved.
  bool step(int rank);
  bool pass(Order order);
  bool settle(Order order);  // passes until nobody moves
  Status run_ordered(Order order);
  Status run_starving(int victim, bool barrier);
  void begin(int rank);
  Status stuck() const;
  Status failure() const;

  LoopGroup group_;
  std::vector<std::unique_ptr<Execution>> executions_;
  std::vector<Binding> bindings_;  // by rank, while it runs
  std::vector<Rank> states_;
  std::vector<int> shuffled_;
  std::span<const Schedule> schedules_;
  const CaseData* data_ = nullptr;
  uint64_t sequence_ = 0, random_ = 0;
  int running_ = 0;  // begun or not, not done
  int failed_ = -1;
};

}  // namespace wia
