// What the ranks of a simulation share: one clock, the fabric, the messages on their way, the state of each
// rank.
//
// Every rank has a time of its own, which its work moves on; the world's events are handled in the order of
// time. A rank sees a message from its arrival on. A rank that looks for one in vain is woken when it has
// come; it is not asked before. Not thread safe.
#pragma once
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "simulate/event_queue.hpp"
#include "simulate/fabric.hpp"
#include "simulate/message_table.hpp"
#include "simulate/trace.hpp"

namespace wia {

struct SimulatedMessage {
  SimulatedTransfer transfer;
  MessageName name;
  uint32_t signature = 0;
  uint32_t next_free = 0;
};

class SimulatedWorld {
 public:
  // `trace` may be null.
  SimulatedWorld(const MachineModel& model, int ranks, Trace* trace);

  // Calls step(rank) whenever a rank may be able to go on, until nothing happens any more.
  void run(const std::function<void(int rank)>& step);

  // --- For the ranks while they are stepped
  const Moment& now(int rank) const { return ranks_[static_cast<size_t>(rank)].now; }
  // The rank works so long.
  void charge(int rank, Cost cost, double us, Activity activity, int peer = -1, size_t bytes = 0);
  void charge_message(int rank, Activity activity, int peer, size_t bytes) {
    charge(rank, Cost::latency, overhead_us_, activity, peer, bytes);
  }
  void charge_call(int rank) { charge(rank, Cost::latency, call_us_, Activity::call); }
  void charge_copy(int rank, size_t bytes);
  // A sum of `sources` into `destinations`, of so many bytes each.
  void charge_reduction(int rank, int sources, int destinations, size_t bytes);

  void send(int from, int to, Key key, uint32_t signature, size_t bytes);
  // Null: not there yet; the rank will be woken.
  const SimulatedMessage* find(int rank, int peer, Key key);
  void receive(const SimulatedMessage& message);  // it is gone afterwards
  // Whether all that the rank sent has arrived; if not, it will be woken.
  bool all_arrived(int rank);
  void begin_polling(int rank) { ranks_[static_cast<size_t>(rank)].awaited.clear(); }

  uint64_t messages() const { return sent_; }
  // Events handled and looks for messages: what a simulation's time consists of.
  uint64_t operations() const { return operations_; }
  size_t undelivered() const { return table_.size(); }

 private:
  enum EventKind : uint32_t { kWake, kTransfer };
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Rank {
    Moment now, last_arrival;  // of what it sent
    double polls_at = 0;       // it is looking at the world as of then
    double wakes_at = kNever;
    uint32_t on_the_way = 0;
    bool drains = false;
    std::vector<MessageName> awaited;
  };

  void wake(Rank& rank, double us);
  uint32_t new_message();
  void proceed(uint32_t index);
  void arrive(uint32_t index);
  void trace_wait(int rank, double from_us, int peer) const;

  Fabric fabric_;
  EventQueue events_;
  MessageTable table_;
  std::vector<SimulatedMessage> messages_;
  uint32_t free_ = MessageTable::kNone;
  std::vector<Rank> ranks_;
  std::vector<double> cores_;  // busy until; empty: every rank has its own
  Trace* trace_;
  double overhead_us_, call_us_, copy_us_per_byte_, reduce_us_per_byte_;
  uint64_t sent_ = 0, operations_ = 0;
};

}  // namespace wia
