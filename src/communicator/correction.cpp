// What was tuned is corrected by the times of real calls (dispatch/online_choice.hpp).
#include "base/log.hpp"
#include "communicator/communicator.hpp"

namespace wia {

CallKind Communicator::kind_of(const Call& call) const {
  return {call.collective, call_bytes(call, size()), size_of(call.dtype), !call.counts, deterministic_};
}

// Which candidate a call tries. Before some calls the ranks combine their times, and before some others a
// choice changes: at the same ones on all ranks.
Status Communicator::take_turn(const Call& call, std::unique_lock<std::mutex>& lock, Turn* turn) {
  if (!corrects_ || telling_ || forced_[static_cast<int>(call.collective)].algorithm) return {};
  turn->choice = dispatcher_.online(kind_of(call));
  if (!turn->choice) return {};
  const OnlineChoice::Turn next = turn->choice->next();
  turn->candidate = next.candidate;
  if (next.tell) WIA_RETURN_IF_ERROR(tell_times(*turn->choice, lock));
  if (!next.change) return {};
  const auto told = told_.find(turn->choice);
  if (told == told_.end()) return {};
  Request* request = told->second;
  told_.erase(told);
  lock.unlock();
  Status heard = finish(request);
  lock = enter();
  WIA_RETURN_IF_ERROR(std::move(heard));
  const size_t before = turn->choice->choice();
  turn->choice->decide();
  const size_t after = turn->choice->choice();
  if (turn->candidate == before) turn->candidate = after;
  if (before != after)
    log::info("communicator {}: {} of {} bytes goes from {} to {}: {:.1f} us, not {:.1f}", name_,
              name_of(call.collective), call_bytes(call, size()), name_of(turn->choice->tactic(before)),
              name_of(turn->choice->tactic(after)), turn->choice->heard()[after],
              turn->choice->heard()[before]);
  return {};
}

Status Communicator::tell_times(OnlineChoice& choice, std::unique_lock<std::mutex>& lock) {
  Call call;
  call.collective = Collective::all_reduce;
  call.send = choice.told().data();
  call.recv = choice.heard().data();
  call.count = choice.told().size();
  call.dtype = DType::float32;
  call.op = Op::max;
  telling_ = true;
  lock.unlock();
  Request* request = nullptr;
  Status told = collective(call, &request);
  lock = enter();
  telling_ = false;
  WIA_RETURN_IF_ERROR(std::move(told));
  told_[&choice] = request;
  return {};
}

}  // namespace wia
