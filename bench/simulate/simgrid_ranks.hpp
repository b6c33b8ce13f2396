// The ranks of one collective call as SimGrid's actors.
//
// Each lane of each rank is an actor that takes its steps in order: a send is queued, a receive waits for the
// message, reductions and copies are work of the rank's host. Each rank has two queues, inside the node and
// out of it, each an actor that keeps a few messages on their way at a time, whether their receivers wait for
// them or not. What src/simulate makes of the same schedules is not used. Not thread safe.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

#include "engine/binding.hpp"
#include "schedule/schedule.hpp"
#include "simulate/machine_model.hpp"

namespace wia {

struct ReplayedCall {
  Collective collective = Collective::all_gather;  // or reduce_scatter, all_reduce
  int ranks = 0;
  uint64_t bytes = 0;
  uint32_t slices = 1, window = 8;
};

// Messages leave in the order in which they were queued.
class MessageQueue {
 public:
  void start(simgrid::s4u::Host* host);
  void push(simgrid::s4u::Mailbox* to, uint64_t bytes);

 private:
  void run();

  std::deque<std::pair<simgrid::s4u::Mailbox*, uint64_t>> messages_;
  simgrid::s4u::SemaphorePtr waiting_ = simgrid::s4u::Semaphore::create(0);
};

class ReplayedRanks {
 public:
  // `machine` must stay until the engine has run.
  ReplayedRanks(const ReplayedCall& call, const MachineModel& machine) : call_(call), machine_(machine) {}

  // The next rank's. All of them before start().
  void add(Schedule schedule);
  // One host a rank. Then Engine::run() runs the call.
  void start(const std::vector<simgrid::s4u::Host*>& hosts);
  uint64_t messages() const { return messages_; }

 private:
  struct Lane {
    uint32_t slice = 0, position = 0;
    bool watched = false;  // by another lane
  };
  struct Rank {
    explicit Rank(Schedule s) : schedule(std::move(s)) {}
    Schedule schedule;
    std::vector<Lane> lanes;
    std::array<MessageQueue, 2> queues;  // inside the node; out of it
    simgrid::s4u::MutexPtr mutex = simgrid::s4u::Mutex::create();
    simgrid::s4u::ConditionVariablePtr moved = simgrid::s4u::ConditionVariable::create();
  };

  void set_extents(uint32_t chunks);
  int node_of(int rank) const { return rank / machine_.ranks_per_node; }
  uint64_t bytes(const Step& step, uint32_t slice) const;
  bool may_begin(const Rank& rank, uint32_t slice) const;
  void run(int r, int l);
  void execute(int r, const Step& step, uint32_t slice);

  const ReplayedCall call_;
  const MachineModel& machine_;
  Extents input_, output_;
  uint64_t slice_elements_ = 1, messages_ = 0;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace wia
