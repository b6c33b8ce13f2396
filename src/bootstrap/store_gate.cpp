#include "bootstrap/store_gate.hpp"

#include <fmt/core.h>

#include <chrono>
#include <climits>

namespace wia {

using store_protocol::Answer;
using store_protocol::Hello;
using store_protocol::Reply;

namespace {

Reply refusal(Answer answer, std::string text) {
  Reply reply;
  reply.answer = answer;
  reply.text = std::move(text);
  return reply;
}

}  // namespace

bool equal_secrets(const std::string& a, const std::string& b) {
  volatile unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < b.size(); ++i)
    difference = difference | static_cast<unsigned>((i < a.size() ? a[i] : 0) ^ b[i]);
  return difference == 0;
}

Reply StoreGate::check(const Hello& hello) const {
  const bool sizes_known = identity_.world_size != 0 && hello.world_size != 0;
  if (hello.job != identity_.job)
    return refusal(Answer::another_job,
                   fmt::format("job \"{}\" of {} ranks is served there, not \"{}\" of {}", identity_.job,
                               identity_.world_size, hello.job, hello.world_size));
  if (!equal_secrets(identity_.secret, hello.secret))
    return refusal(Answer::wrong_secret,
                   fmt::format("the secrets of job \"{}\" differ (WIA_JOB_SECRET)", identity_.job));
  if (sizes_known && static_cast<int64_t>(hello.world_size) != identity_.world_size)
    return refusal(Answer::world_size, fmt::format("job \"{}\" has {} ranks there, not {}", identity_.job,
                                                   identity_.world_size, hello.world_size));
  if (hello.rank < 0) return Reply();
  if (sizes_known && hello.rank >= identity_.world_size)
    return refusal(Answer::world_size,
                   fmt::format("rank {} is none of the {} ranks", hello.rank, identity_.world_size));
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(hello.rank);
  if (found == places_.end() || found->second.client == 0 || found->second.client == hello.client)
    return Reply();
  return refusal(Answer::rank_taken,
                 fmt::format("rank {} is taken already by {}", hello.rank, found->second.member));
}

void StoreGate::enter(const Hello& hello) {
  if (hello.rank < 0) return;
  const std::lock_guard lock(mutex_);
  Place& place = places_[hello.rank];
  if (place.client == 0) ++place.entered;
  place.client = hello.client;
  place.member = hello.member.empty() ? "another process" : hello.member;
  ++place.connections;
}

void StoreGate::leave(const Hello& hello) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(hello.rank);
  if (found == places_.end() || found->second.client != hello.client) return;
  if (--found->second.connections > 0) return;
  found->second.client = 0;
  left_.notify_all();
}

uint64_t StoreGate::holder(int rank) const {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(rank);
  return found == places_.end() ? 0 : found->second.client;
}

std::vector<int> StoreGate::wait_until_left(int rank, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto mine = places_.find(rank);
  const int turn = mine == places_.end() ? INT_MAX : mine->second.entered;
  for (;;) {
    std::vector<int> present;
    for (const auto& [other, place] : places_)
      if (other != rank && place.client != 0 && place.entered <= turn) present.push_back(other);
    if (present.empty() || deadline.passed()) return present;
    left_.wait_for(lock, std::chrono::milliseconds(deadline.left_ms()));
  }
}

}  // namespace wia
