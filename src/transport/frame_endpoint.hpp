// The endpoint of all networks: messages, packets and news of calls as frames over a Wire. See endpoint.hpp
// for the interface.
//
// A sender has at most kFrameCapacity messages on their way to a peer; the receiver reads all that comes, so
// no stream holds up another, and its memory is bounded. A message whose place is known when it arrives
// (find() was called with one) is put there at once.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "transport/endpoint.hpp"
#include "transport/wire.hpp"

namespace wia {

class FrameEndpoint final : public Endpoint, private FrameSink {
 public:
  // `max_message`: the most bytes of a staged message and of a packet's data; the same on all ranks.
  FrameEndpoint(int rank, int size, std::unique_ptr<Wire> wire, size_t max_message);
  ~FrameEndpoint() override;

  void enter(const CallSignature& call, std::span<const int> to_tell, std::byte* output,
             size_t output_bytes) override;
  void leave() override;
  void use_rails(int most) override { wire_->use_rails(most); }
  Entered entered(int peer) override;
  size_t max_staged() const override { return max_message_; }
  std::byte* stage(std::span<const int> peers, size_t bytes) override;
  void post(std::span<const int> peers, Key key, size_t bytes) override;
  bool can_send_direct(std::span<const int>, const std::byte*, size_t) const override {
    return !wire_->copies_data();
  }
  bool post_direct(std::span<const int> peers, Key key, const std::byte* data, size_t bytes) override;
  std::byte* landing(int) const override { return nullptr; }
  bool post_landed(int, Key, const std::byte*, size_t) override { return false; }
  bool can_post(int peer) override;
  bool drained() override;
  bool find(int peer, Key key, Message* message, std::span<std::byte> place) override;
  void release(int peer, const Message& message) override;
  size_t max_packet_data() const override { return max_message_ / 4; }
  bool push(int peer, uint8_t type, const void* header, size_t header_bytes, const std::byte* data,
            size_t bytes) override;
  bool flushed(int peer) override { return wire_->flushed(peer); }
  bool carries_transfers(int) const override { return true; }
  bool peek(int peer, Packet* packet) override;
  void pop(int peer) override;
  int64_t locate(int, const std::byte*, size_t) const override { return -1; }
  std::byte* resolve(int, int64_t) const override { return nullptr; }
  std::optional<Trouble> check(bool collective, std::span<const int> partners) override;
  void announce_failure(Code code, const std::string& text) override;
  CallSignature last_call(int peer) const override { return peers_[peer].call; }
  bool knows_calls(int peer) const override {
    return wire_->connected(peer) || peers_[peer].call.sequence > 0;
  }
  std::string describe_peer(int peer) const override { return wire_->describe(peer); }
  size_t shared_bytes() const override { return 0; }

 private:
  // What find() has looked for in vain, with a place for it.
  struct Expected {
    Key key;
    std::span<std::byte> place;
  };
  // Numbers of one stream of messages between this rank and a peer. They only grow, and wrap around.
  struct Stream {
    uint32_t sent = 0, sent_taken = 0;          // to the peer; released there
    uint32_t arrived = 0, taken = 0, told = 0;  // from the peer; released here; as the peer knows
    bool full() const { return sent - sent_taken >= kFrameCapacity; }
    bool owes() const { return taken - told >= kTellAfter; }
    void hear(uint32_t number) {
      if (static_cast<int32_t>(number - sent_taken) > 0) sent_taken = number;
    }
  };
  struct Peer {
    Stream messages, packets;
    CallSignature call;      // the peer's last
    uint64_t told_call = 0;  // sequence of the last call that the peer was told of
    bool owed_call = false, owed_credit = false;
    uint64_t missed_in = 0;  // the last call in which something was wanted of it after it was gone
    bool has_left = false;
    Code failure_code = Code::ok;
    std::string failure;
    std::vector<Expected> expected;
  };

  Arriving begin(int peer, const FrameHeader& header) override;
  void arrived(int peer, const FrameHeader& header, Arriving arriving) override;
  void broken_off(Arriving arriving) override { pool_->give(arriving.message); }
  std::span<std::byte> take_expected(Peer& peer, const FrameHeader& header);
  bool has_room(int peer);
  bool all_have_room(std::span<const int> peers);
  void send_message(int peer, Key key, const std::byte* data, size_t bytes, MessageBuffer* buffer);
  FrameHeader header_for(Peer& peer, FrameKind kind, size_t bytes) const;
  void owe(int peer, bool Peer::*what);
  void pay_debts();
  bool pay(int peer);
  void missed(int peer);
  bool is_gone(int peer) const { return peers_[peer].has_left || wire_->loss(peer); }

  const size_t max_message_;
  const std::shared_ptr<MessagePool> pool_ = std::make_shared<MessagePool>();
  ArrivedMessages arrivals_;
  std::vector<Peer> peers_;
  std::unique_ptr<Wire> wire_;
  CallSignature call_;
  std::vector<int> owed_;  // peers that are owed something
  size_t num_expected_ = 0;
  MessageBuffer* staged_ = nullptr;
};

}  // namespace wia
