#include "bootstrap/store_gate.hpp"

#include <fmt/core.h>

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
  const auto found = holders_.find(hello.rank);
  if (found == holders_.end() || found->second.client == hello.client) return Reply();
  return refusal(Answer::rank_taken,
                 fmt::format("rank {} is taken already by {}", hello.rank, found->second.member));
}

void StoreGate::enter(const Hello& hello) {
  if (hello.rank < 0) return;
  Holder& holder = holders_[hello.rank];
  holder.client = hello.client;
  holder.member = hello.member.empty() ? "another process" : hello.member;
  ++holder.connections;
}

void StoreGate::leave(const Hello& hello) {
  const auto found = holders_.find(hello.rank);
  if (found == holders_.end() || found->second.client != hello.client) return;
  if (--found->second.connections == 0) holders_.erase(found);
}

uint64_t StoreGate::holder(int rank) const {
  const auto found = holders_.find(rank);
  return found == holders_.end() ? 0 : found->second.client;
}

}  // namespace wia
