#include "transport/ofi_control.hpp"

#include <utility>

namespace wia {
namespace {

constexpr int64_t kStragglersMs = 2'000;  // for messages that were sent before a goodbye

}  // namespace

void OfiControl::attach(FrameSink* sink, const std::shared_ptr<MessagePool>& pool) {
  sink_ = sink;
  wire_->attach(this, pool);
}

Arriving OfiControl::begin(int peer, const FrameHeader& header) {
  const bool legal = header.kind == FrameKind::credit || header.kind == FrameKind::failure ||
                     header.kind == FrameKind::call || header.kind == FrameKind::goodbye;
  return legal ? sink_->begin(peer, header) : Arriving{};
}

void OfiControl::arrived(int p, const FrameHeader& header, Arriving arriving) {
  Peer& peer = peers_[static_cast<size_t>(p)];
  switch (header.kind) {
    case FrameKind::credit:
      peer.announced = header.key.slice;
      sink_->broken_off(arriving);
      break;
    case FrameKind::goodbye:
      peer.goodbye = header;
      peer.held = arriving;
      peer.held_until = Deadline::after_ms(kStragglersMs);
      break;
    default:
      sink_->arrived(p, header, arriving);
  }
}

void OfiControl::look(int p, uint32_t received) {
  wire_->poll(p);
  Peer& peer = peers_[static_cast<size_t>(p)];
  if (!peer.held.message) return;
  if (static_cast<int32_t>(received - peer.announced) >= 0 || peer.held_until.passed())
    sink_->arrived(p, peer.goodbye, std::exchange(peer.held, {}));
}

const Status* OfiControl::loss(int peer) const {
  return peers_[static_cast<size_t>(peer)].held.message ? nullptr : wire_->loss(peer);
}

void OfiControl::end(std::span<const std::byte> last_words, std::span<const uint32_t> sent) {
  for (size_t p = 0; p < peers_.size(); ++p) {
    const int peer = static_cast<int>(p);
    if (peers_[p].held.message) sink_->broken_off(std::exchange(peers_[p].held, {}));
    if (!wire_->connected(peer) || !wire_->ready(peer, FrameKind::credit)) continue;
    FrameHeader count;
    count.key.slice = sent[p];
    wire_->send(peer, FrameKind::credit, std::as_bytes(std::span(&count, 1)), nullptr, 0, nullptr);
  }
  wire_->end(last_words);
}

}  // namespace wia
