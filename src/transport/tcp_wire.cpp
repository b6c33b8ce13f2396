#include "transport/tcp_wire.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace wia {

TcpWire::TcpWire(std::unique_ptr<Door> door, std::vector<Peer> peers)
    : door_(std::move(door)), ways_(peers.size()) {
  for (size_t p = 0; p < peers.size(); ++p) {
    ways_[p].peer = std::move(peers[p]);
    ways_[p].rails.resize(ways_[p].peer.rails.size());
  }
}

void TcpWire::open(Way& way, int peer) {
  if (way.asked || !door_) return;
  way.asked = true;
  for (const int rail : way.peer.rails) door_->connect(peer, rail);
}

void TcpWire::take_arrivals() {
  if (!door_ || !door_->has_arrivals()) return;
  for (Arrival& arrival : door_->take_arrivals()) {
    Way& its = way(arrival.peer);
    const auto rail = std::find(its.peer.rails.begin(), its.peer.rails.end(), arrival.rail);
    if (!arrival.socket) {
      if (its.failure.ok()) its.failure = std::move(arrival.failure);
    } else if (rail != its.peer.rails.end()) {
      if (its.open++ == 0) connected_.push_back(arrival.peer);
      its.rails[static_cast<size_t>(rail - its.peer.rails.begin())] =
          std::make_unique<TcpConnection>(std::move(arrival.socket), pool_.get());
    }
  }
}

bool TcpWire::ready(int peer, FrameKind kind) {
  Way& its = way(peer);
  if (its.open == 0 || its.open < static_cast<int>(its.rails.size())) {
    open(its, peer);
    take_arrivals();
  }
  const auto can_take = [&](size_t rail) {
    TcpConnection* connection = its.rails[rail].get();
    return connection && !connection->is_busy() && connection->can_send();
  };
  if (kind == FrameKind::packet) return !its.rails.empty() && can_take(0);
  const size_t rails = usable(its.rails.size());
  if (its.next >= rails) its.next = 0;
  for (size_t tried = 0; tried < rails; ++tried) {
    if (can_take(its.next)) return true;
    its.next = (its.next + 1) % rails;
  }
  return false;
}

void TcpWire::send(int peer, FrameKind kind, std::span<const std::byte> head, const std::byte* data,
                   size_t bytes, MessageBuffer* buffer) {
  Way& its = way(peer);
  if (kind == FrameKind::packet) {
    its.rails[0]->send(head, data, bytes, buffer);
    return;
  }
  its.rails[its.next]->send(head, data, bytes, buffer);
  if (kind == FrameKind::data && ++its.next >= usable(its.rails.size())) its.next = 0;
}

bool TcpWire::flushed(int peer) {
  return std::none_of(way(peer).rails.begin(), way(peer).rails.end(),
                      [](const auto& rail) { return rail && rail->is_busy(); });
}

bool TcpWire::flushed() {
  bool all = true;
  for (const int peer : connected_) all &= flushed(peer);
  return all;
}

bool TcpWire::poll(int peer) {
  Way& its = way(peer);
  if (its.open < static_cast<int>(its.rails.size())) {
    open(its, peer);
    take_arrivals();
  }
  for (const auto& rail : its.rails) {
    if (!rail) continue;
    rail->is_busy();  // what waits to be sent goes on
    if (rail->read(peer, *sink_)) return true;
  }
  return false;
}

const Status* TcpWire::loss(int peer) const {
  const Way& its = ways_[static_cast<size_t>(peer)];
  if (its.open == 0) return its.failure.ok() ? nullptr : &its.failure;
  for (const auto& rail : its.rails)
    if (rail && !rail->loss().ok()) return &rail->loss();
  return nullptr;
}

std::string TcpWire::describe(int peer) const {
  const Way& its = ways_[static_cast<size_t>(peer)];
  for (const auto& rail : its.rails)
    if (rail) return fmt::format("{}, {}", its.peer.text, rail->text());
  const std::string difficulties = door_ ? door_->difficulties(peer) : std::string();
  return difficulties.empty() ? its.peer.text
                              : fmt::format("{}, not connected: {}", its.peer.text, difficulties);
}

void TcpWire::end(std::span<const std::byte> last_words) {
  take_arrivals();  // they hear the last words, too
  for (const int peer : connected_) {
    Way& its = way(peer);
    bool said = false;
    for (const auto& rail : its.rails) {
      if (!rail) continue;
      std::vector<std::byte> unsent;
      const bool good = rail->loss().ok();
      FileDescriptor socket = rail->take_apart(*sink_, &unsent);
      if (!socket || !good) continue;
      if (!std::exchange(said, true)) unsent.insert(unsent.end(), last_words.begin(), last_words.end());
      Network::existing()->close_gently(std::move(socket), std::move(unsent));
    }
    its.open = 0;
  }
  connected_.clear();
  door_.reset();
}

}  // namespace wia
