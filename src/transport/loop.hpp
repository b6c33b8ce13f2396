// The in-process transport: all ranks in one process, driven by one thread.
//
// For worlds of one rank, for verification (the order in which ranks move, and how far, is the caller's), and
// for counting instructions. A rank has at most `capacity` messages on their way to each other rank; a
// schedule that gets through with few is free of deadlock on every transport that holds more. In the steady
// state nothing is allocated and no system call is made. Not thread safe: one thread at a time uses a group
// and all its endpoints.
#pragma once
#include <memory>
#include <vector>

#include "transport/endpoint.hpp"
#include "transport/messages.hpp"

namespace wia {

struct LoopOptions {
  uint32_t capacity =
      16;  // messages from one rank to another that were not released; at most 64 with `in_order`
  bool direct = false;   // any memory can be sent without a copy
  bool landing = false;  // outputs passed to enter() can be written by peers that heard from their owner
  // A message makes room only when those sent before it were released, too, as in a ring.
  bool in_order = false;

  bool operator==(const LoopOptions&) const = default;
};

class LoopGroup;

class LoopEndpoint final : public Endpoint {
 public:
  LoopEndpoint(LoopGroup& group, int rank, int ranks);

  void enter(const CallSignature& call, std::span<const int> to_tell, std::byte* output,
             size_t output_bytes) override;
  void leave() override {}
  Entered entered(int peer) override;
  size_t max_staged() const override { return kMaxBytes; }
  std::byte* stage(std::span<const int> peers, size_t bytes) override;
  void post(std::span<const int> peers, Key key, size_t bytes) override;
  bool can_send_direct(std::span<const int> peers, const std::byte* data, size_t bytes) const override;
  bool post_direct(std::span<const int> peers, Key key, const std::byte* data, size_t bytes) override;
  std::byte* landing(int peer) const override;
  bool post_landed(int peer, Key key, const std::byte* data, size_t bytes) override;
  bool can_post(int peer) override;
  bool drained() override { return unread_direct_ == 0; }
  using Endpoint::find;
  bool find(int peer, Key key, Message* message, std::span<std::byte> place) override;
  void release(int peer, const Message& message) override;
  size_t max_packet_data() const override { return kMaxBytes; }
  bool push(int peer, uint8_t type, const void* header, size_t header_bytes, const std::byte* data,
            size_t bytes) override;
  bool flushed(int) override { return true; }
  bool carries_transfers(int) const override { return false; }
  bool peek(int peer, Packet* packet) override;
  void pop(int peer) override;
  int64_t locate(int peer, const std::byte* data, size_t bytes) const override;
  std::byte* resolve(int peer, int64_t location) const override;
  std::optional<Trouble> check(bool collective, std::span<const int> partners) override;
  void announce_failure(Code code, const std::string& text) override;
  CallSignature last_call(int peer) const override;
  bool knows_calls(int) const override { return true; }
  std::string describe_peer(int) const override { return "in this process"; }
  size_t shared_bytes() const override { return 0; }

  // From now on find() shows so many messages, then none.
  void allow(uint64_t messages) { allowed_ = messages; }
  // From now on so many messages can be sent, and the rest of a group that was begun.
  void allow_sends(uint64_t messages) { sends_allowed_ = messages; }
  static constexpr uint64_t kUnlimited = UINT64_MAX;
  // Messages and packets that have arrived here and were not released.
  size_t undelivered() const { return arrivals_.size(); }

 private:
  static constexpr size_t kMaxBytes = size_t{1} << 40;
  // A pair's messages as a ring would count them.
  struct Ring {
    uint32_t sent = 0, base = 0;
    uint64_t released = 0;  // bit i: message base + i
    void release(uint32_t position);
  };
  struct PacketCounts {
    uint32_t sent = 0, taken = 0;
  };
  bool has_room(int peer) const;
  StoredMessage* new_message(int peer, Key key, StoredMessage* message);
  void post_own_memory(int peer, Key key, const std::byte* data, size_t bytes, StoredMessage::Way way);
  void deliver(int peer, StoredMessage* message);
  StoredMessage* oldest_packet(int peer) const;
  PacketCounts& packets_with(int peer);

  LoopGroup& group_;
  CallSignature call_;
  std::byte* output_ = nullptr;
  ArrivedMessages arrivals_;          // arrived, not released
  std::vector<uint32_t> on_the_way_;  // by peer: messages sent that take up capacity
  std::vector<Ring> rings_;           // by peer; empty unless in_order
  std::vector<uint64_t> heard_;  // bit by peer: a message of this call came from it; empty unless landing
  std::vector<PacketCounts> packets_;
  uint64_t allowed_ = kUnlimited, sends_allowed_ = kUnlimited;
  size_t unread_direct_ = 0;
  StoredMessage* staged_message_ = nullptr;
  MessageBuffer* staged_buffer_ = nullptr;
  Status failure_;
};

class LoopGroup {
 public:
  explicit LoopGroup(int ranks, const LoopOptions& options = {});

  int ranks() const { return static_cast<int>(endpoints_.size()); }
  LoopEndpoint& endpoint(int rank) { return *endpoints_[rank]; }
  const LoopOptions& options() const { return options_; }
  // Of all ranks: not released.
  size_t undelivered() const;

 private:
  friend class LoopEndpoint;
  const LoopOptions options_;
  MessagePool pool_;
  std::vector<std::unique_ptr<LoopEndpoint>> endpoints_;
};

}  // namespace wia
