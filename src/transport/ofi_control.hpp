// The connections beside libfabric's endpoints: who is of this job, who is gone, and last words.
//
// Last words may overtake messages, so with a goodbye comes how many messages were sent; it is held back
// until those have arrived.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "transport/tcp_wire.hpp"
#include "transport/wire.hpp"

namespace wia {

class OfiControl final : private FrameSink {
 public:
  OfiControl(std::unique_ptr<TcpWire> wire, size_t peers) : wire_(std::move(wire)), peers_(peers) {}
  void attach(FrameSink* sink, const std::shared_ptr<MessagePool>& pool);

  // True once the connection stands; begins to open it.
  bool open(int peer) {
    return wire_->connected(peer) || (wire_->ready(peer, FrameKind::credit), wire_->connected(peer));
  }
  // Takes what has come. `received`: messages from the peer so far.
  void look(int peer, uint32_t received);
  bool connected(int peer) const { return wire_->connected(peer); }
  const Status* loss(int peer) const;
  std::string describe(int peer) const { return wire_->describe(peer); }
  // `sent`: messages to each peer.
  void end(std::span<const std::byte> last_words, std::span<const uint32_t> sent);

 private:
  struct Peer {
    uint32_t announced = 0;
    FrameHeader goodbye;
    Arriving held;  // a goodbye that waits for messages
    Deadline held_until = Deadline::never();
  };
  Arriving begin(int peer, const FrameHeader& header) override;
  void arrived(int peer, const FrameHeader& header, Arriving arriving) override;
  void broken_off(Arriving arriving) override { sink_->broken_off(arriving); }

  const std::unique_ptr<TcpWire> wire_;
  std::vector<Peer> peers_;
  FrameSink* sink_ = nullptr;
};

}  // namespace wia
