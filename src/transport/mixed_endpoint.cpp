#include "transport/mixed_endpoint.hpp"

#include <algorithm>
#include <cstring>

namespace wia {

MixedEndpoint::MixedEndpoint(int rank, int size, std::unique_ptr<Endpoint> local,
                             const std::vector<int>& local_ranks, std::unique_ptr<Endpoint> remote)
    : Endpoint(rank, size),
      local_(std::move(local)),
      remote_(std::move(remote)),
      local_ranks_(local_ranks),
      number_(static_cast<size_t>(size), -1) {
  for (size_t i = 0; i < local_ranks.size(); ++i) number_[local_ranks[i]] = static_cast<int>(i);
}

const MixedEndpoint::Split& MixedEndpoint::split(std::span<const int> peers) const {
  split_.local.clear();
  split_.remote.clear();
  for (const int peer : peers) (is_local(peer) ? split_.local : split_.remote).push_back(number(peer));
  return split_;
}

void MixedEndpoint::enter(const CallSignature& call, std::span<const int> to_tell, std::byte* output,
                          size_t output_bytes) {
  const Split& told = split(to_tell);
  local_->enter(call, told.local, output, output_bytes);
  remote_->enter(call, told.remote, output, output_bytes);
}

void MixedEndpoint::leave() {
  local_->leave();
  remote_->leave();
}

size_t MixedEndpoint::max_staged() const { return std::min(local_->max_staged(), remote_->max_staged()); }
size_t MixedEndpoint::max_packet_data() const {
  return std::min(local_->max_packet_data(), remote_->max_packet_data());
}

// A group on both sides: the local side's place, copied to the other when it is posted. The remote side
// first: its staging costs nothing when the other has no room.
std::byte* MixedEndpoint::stage(std::span<const int> peers, size_t bytes) {
  const Split& group = split(peers);
  staged_local_ = staged_remote_ = nullptr;
  if (!group.remote.empty() && !(staged_remote_ = remote_->stage(group.remote, bytes))) return nullptr;
  if (!group.local.empty() && !(staged_local_ = local_->stage(group.local, bytes))) return nullptr;
  return staged_local_ ? staged_local_ : staged_remote_;
}

void MixedEndpoint::post(std::span<const int> peers, Key key, size_t bytes) {
  const Split& group = split(peers);
  if (staged_remote_) {
    if (staged_local_) std::memcpy(staged_remote_, staged_local_, bytes);
    remote_->post(group.remote, key, bytes);
  }
  if (staged_local_) local_->post(group.local, key, bytes);
}

bool MixedEndpoint::can_send_direct(std::span<const int> peers, const std::byte* data, size_t bytes) const {
  const Split& group = split(peers);
  return (group.local.empty() || local_->can_send_direct(group.local, data, bytes)) &&
         (group.remote.empty() || remote_->can_send_direct(group.remote, data, bytes));
}

bool MixedEndpoint::post_direct(std::span<const int> peers, Key key, const std::byte* data, size_t bytes) {
  const Split& group = split(peers);
  const auto has_room = [](Endpoint& endpoint, const std::vector<int>& members) {
    return std::all_of(members.begin(), members.end(), [&](int peer) { return endpoint.can_post(peer); });
  };
  if (!group.local.empty() && !group.remote.empty() && !has_room(*local_, group.local)) return false;
  if (!group.remote.empty() && !remote_->post_direct(group.remote, key, data, bytes)) return false;
  return group.local.empty() || local_->post_direct(group.local, key, data, bytes);
}

bool MixedEndpoint::drained() {
  const bool local = local_->drained();
  return remote_->drained() && local;
}

std::optional<Trouble> MixedEndpoint::check(bool collective, std::span<const int> partners) {
  const Split group = split(partners);  // a copy: the endpoints may ask for others
  auto trouble = local_->check(collective, group.local);
  if (trouble) {
    trouble->peer = local_ranks_[static_cast<size_t>(trouble->peer)];
    return trouble;
  }
  return remote_->check(collective, group.remote);
}

void MixedEndpoint::announce_failure(Code code, const std::string& text) {
  local_->announce_failure(code, text);
  remote_->announce_failure(code, text);
}

}  // namespace wia
