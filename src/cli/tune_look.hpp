// One look at one class of one cell, on all ranks: `wia tune` by measuring.
//
// One thread a rank. Rank 0 decides what is looked at and tells the others, so ranks never disagree.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "cli/bench_buffers.hpp"
#include "cli/bench_meeting.hpp"
#include "cli/bench_plan.hpp"

namespace wia::cli {

// The call that is timed: out of place, float32, sum, root 0.
bench::Cell tuned_call(Collective collective, uint64_t bytes, int ranks);

// What rank 0 tells.
struct LookOrder {
  Collective collective = Collective::all_reduce;
  uint64_t bytes = 0;
  std::string name;         // of the class
  bool first = false;       // it is not known yet whether it can be used
  int64_t look_ns = 0;      // how long the look takes at least
  int64_t expected_ns = 0;  // what a call may take; 0: not known
};

class Looker {
 public:
  Looker(wia_communicator_t* world, bench::Meeting& meeting) : world_(world), meeting_(meeting) {}

  // Collective; the order is rank 0's. What a call took, in us, median; nothing: the class cannot be used.
  std::optional<double> look(const LookOrder& order);
  // Rank 0 has no more orders.
  void finish();
  // On the other ranks: follows the orders until there are no more.
  void follow();

 private:
  std::optional<double> follow(const std::string& text);
  void prepare(Collective collective, uint64_t bytes);
  bool is_refused();
  double median_ns(int calls);
  double time_ns(double look_ns, double expected_ns);

  wia_communicator_t* const world_;
  bench::Meeting& meeting_;
  bench::Cell cell_;
  std::unique_ptr<bench::Buffers> buffers_;  // for cell_
};

constexpr int kMostCallsOfLook = 400;

}  // namespace wia::cli
