#include "simulate/simulated_world.hpp"

#include <algorithm>

namespace wia {

SimulatedWorld::SimulatedWorld(const MachineModel& model, int ranks, Trace* trace)
    : fabric_(model, ranks),
      ranks_(static_cast<size_t>(ranks)),
      cores_(static_cast<size_t>(model.shared_cores.value_or(0))),
      trace_(trace),
      overhead_us_(model.overhead_us.value.value_or(0)),
      call_us_(model.call_us.value.value_or(0)),
      copy_us_per_byte_(us_per_byte(model.copy_GBps)),
      reduce_us_per_byte_(us_per_byte(model.reduce_GBps)) {}

void SimulatedWorld::run(const std::function<void(int rank)>& step) {
  for (Rank& rank : ranks_) wake(rank, 0);
  while (!events_.empty()) {
    const Event event = events_.take();
    ++operations_;
    if (event.kind == kTransfer) {
      proceed(event.subject);
      continue;
    }
    Rank& rank = ranks_[event.subject];
    if (event.us != rank.wakes_at) continue;  // it was woken before
    rank.wakes_at = kNever;
    rank.polls_at = std::max(event.us, rank.now.us);
    step(static_cast<int>(event.subject));
  }
}

void SimulatedWorld::wake(Rank& rank, double us) {
  us = std::max(us, rank.now.us);
  if (us >= rank.wakes_at) return;
  rank.wakes_at = us;
  events_.add(us, kWake, static_cast<uint32_t>(&rank - ranks_.data()));
}

// --- Work -------------------------------------------------------------------------------------------

void SimulatedWorld::charge(int rank, Cost cost, double us, Activity activity, int peer, size_t bytes) {
  Moment& now = ranks_[static_cast<size_t>(rank)].now;
  if (us > 0 && !cores_.empty()) {
    double& core = *std::min_element(cores_.begin(), cores_.end());
    now.wait_until(core);
    core = now.us + us;
  }
  if (trace_) trace_->add({now.us, us, rank, peer, activity, bytes});
  now.add(cost, us);
}

void SimulatedWorld::charge_copy(int rank, size_t bytes) {
  charge(rank, Cost::reduction, static_cast<double>(bytes) * copy_us_per_byte_, Activity::copy, -1, bytes);
}

// Memory is what limits a sum: a sum of two reads two buffers and writes one.
void SimulatedWorld::charge_reduction(int rank, int sources, int destinations, size_t bytes) {
  const double buffers = (sources + destinations) / 3.0;
  charge(rank, Cost::reduction, static_cast<double>(bytes) * reduce_us_per_byte_ * buffers, Activity::reduce,
         -1, bytes);
}

// --- Messages ---------------------------------------------------------------------------------------

uint32_t SimulatedWorld::new_message() {
  if (free_ == MessageTable::kNone) {
    messages_.emplace_back();
    return static_cast<uint32_t>(messages_.size() - 1);
  }
  const uint32_t index = free_;
  free_ = messages_[index].next_free;
  return index;
}

void SimulatedWorld::send(int from, int to, Key key, uint32_t signature, size_t bytes) {
  charge_message(from, Activity::send, to, bytes);
  Rank& sender = ranks_[static_cast<size_t>(from)];
  const uint32_t index = new_message();
  SimulatedMessage& message = messages_[index];
  message.transfer = {};
  message.transfer.from = from, message.transfer.to = to;
  message.transfer.bytes = bytes;
  message.transfer.moment = sender.now;
  message.name = MessageName::of(to, from, key);
  message.signature = signature;
  ++sender.on_the_way;
  ++sent_;
  if (fabric_.first_is_private(message.transfer)) fabric_.proceed(message.transfer);
  events_.add(message.transfer.moment.us, kTransfer, index);
}

void SimulatedWorld::proceed(uint32_t index) {
  SimulatedTransfer& transfer = messages_[index].transfer;
  for (;;) {
    const double asked_us = transfer.moment.us;
    if (fabric_.proceed(transfer)) return arrive(index);
    if (transfer.moment.us > asked_us) break;
  }
  events_.add(transfer.moment.us, kTransfer, index);
}

// From here on the time of arrival is known: the receiver is woken then, if this is what it waits for.
void SimulatedWorld::arrive(uint32_t index) {
  const SimulatedMessage& message = messages_[index];
  const Moment& arrival = message.transfer.moment;
  table_.insert(message.name, index);
  Rank& sender = ranks_[static_cast<size_t>(message.transfer.from)];
  sender.last_arrival.continue_from(arrival);
  if (--sender.on_the_way == 0 && sender.drains) wake(sender, sender.last_arrival.us);
  Rank& receiver = ranks_[static_cast<size_t>(message.transfer.to)];
  if (std::find(receiver.awaited.begin(), receiver.awaited.end(), message.name) != receiver.awaited.end())
    wake(receiver, arrival.us);
}

const SimulatedMessage* SimulatedWorld::find(int rank, int peer, Key key) {
  Rank& receiver = ranks_[static_cast<size_t>(rank)];
  const MessageName name = MessageName::of(rank, peer, key);
  ++operations_;
  const uint32_t index = table_.find(name);
  if (index == MessageTable::kNone) {
    receiver.awaited.push_back(name);
    return nullptr;
  }
  const SimulatedMessage& message = messages_[index];
  const Moment& arrival = message.transfer.moment;
  if (arrival.us > std::max(receiver.now.us, receiver.polls_at)) {
    wake(receiver, arrival.us);
    return nullptr;
  }
  if (trace_ && arrival.us > receiver.now.us)
    trace_->add(
        {receiver.now.us, arrival.us - receiver.now.us, rank, peer, Activity::wait, message.transfer.bytes});
  receiver.now.continue_from(arrival);
  charge_message(rank, Activity::receive, peer, message.transfer.bytes);
  return &message;
}

void SimulatedWorld::receive(const SimulatedMessage& message) {
  const auto index = static_cast<uint32_t>(&message - messages_.data());
  table_.remove(message.name);
  messages_[index].next_free = free_;
  free_ = index;
}

bool SimulatedWorld::all_arrived(int rank) {
  Rank& sender = ranks_[static_cast<size_t>(rank)];
  sender.drains = sender.on_the_way > 0;
  if (sender.drains) return false;
  if (sender.last_arrival.us > std::max(sender.now.us, sender.polls_at)) {
    wake(sender, sender.last_arrival.us);
    return false;
  }
  sender.now.continue_from(sender.last_arrival);
  return true;
}

}  // namespace wia
