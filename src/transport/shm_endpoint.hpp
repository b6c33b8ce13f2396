// Transport between ranks that share memory (ShmHeap). See endpoint.hpp for the interface, shm_layout.hpp for
// what lies where.
#pragma once
#include <memory>
#include <vector>

#include "transport/endpoint.hpp"
#include "transport/shm_heap.hpp"
#include "transport/shm_layout.hpp"

namespace wia {

// Memory for blocks of ranks that have departed from their communicators but whose peers have not yet.
// Swept when a communicator is made or destroyed. Thread safe.
class ShmGraveyard {
 public:
  static ShmGraveyard& instance();
  // `heaps` and `departures`: of all ranks, that of the block's owner among them.
  void bury(std::byte* block, const shm::Departure* departures, std::vector<std::shared_ptr<PeerHeap>> heaps);
  void sweep();

 private:
  struct Grave {
    std::byte* block;
    const shm::Departure* departures;
    std::vector<std::shared_ptr<PeerHeap>> heaps;
  };
  std::mutex mutex_;
  std::vector<Grave> graves_;
};

// A block of a few ranks stays below 2 MiB, so that it lies in small pages: a communicator that is hardly
// used takes hardly any memory.
struct ShmOptions {
  size_t staging_bytes = size_t{13} << 17;        // per rank, for collectives
  size_t packet_staging_bytes = size_t{1} << 18;  // per rank, for point to point
};

// First half of making an endpoint: the own block, whose offset in the own heap the peers must learn.
class ShmBlock {
 public:
  static Result<ShmBlock> make(int ranks, const ShmOptions& options);
  ShmBlock(ShmBlock&& other) noexcept : block_(other.block_), layout_(other.layout_) {
    other.block_ = nullptr;
  }
  ShmBlock& operator=(ShmBlock&&) = delete;
  ~ShmBlock();
  uint64_t offset() const;
  // No endpoint comes of it. Peers may have learned the offset already, or still will: they find the reason
  // in the block, which is kept like that of an endpoint.
  void abandon(const Status& reason, std::vector<std::shared_ptr<PeerHeap>> heaps);

 private:
  friend class ShmEndpoint;
  ShmBlock(std::byte* block, const shm::BlockLayout& layout) : block_(block), layout_(layout) {}
  std::byte* block_;
  shm::BlockLayout layout_;
};

class ShmEndpoint final : public Endpoint {
 public:
  // `heaps[r]` and `offsets[r]`: heap and block of rank r (entry `rank`: the own ones).
  ShmEndpoint(int rank, ShmBlock block, std::vector<std::shared_ptr<PeerHeap>> heaps,
              const std::vector<uint64_t>& offsets);
  ~ShmEndpoint() override;

  void enter(const CallSignature& call, std::span<const int> to_tell, std::byte* output,
             size_t output_bytes) override;
  void leave() override;
  Entered entered(int peer) override;
  size_t max_staged() const override { return staging_.bytes / 4; }
  std::byte* stage(std::span<const int> peers, size_t bytes) override;
  void post(std::span<const int> peers, Key key, size_t bytes) override;
  bool can_send_direct(std::span<const int>, const std::byte* data, size_t bytes) const override {
    return own_.contains(data, bytes);
  }
  bool post_direct(std::span<const int> peers, Key key, const std::byte* data, size_t bytes) override;
  std::byte* landing(int peer) const override;
  bool post_landed(int peer, Key key, const std::byte* data, size_t bytes) override;
  bool can_post(int peer) override;
  bool drained() override;
  bool find(int peer, Key key, Message* message, std::span<std::byte> place) override;
  void release(int peer, const Message& message) override;
  size_t max_packet_data() const override { return packet_staging_.bytes / 4; }
  bool push(int peer, uint8_t type, const void* header, size_t header_bytes, const std::byte* data,
            size_t bytes) override;
  bool flushed(int) override { return true; }
  bool carries_transfers(int) const override { return false; }
  bool peek(int peer, Packet* packet) override;
  void pop(int peer) override;
  int64_t locate(int peer, const std::byte* data, size_t bytes) const override;
  std::byte* resolve(int peer, int64_t location) const override { return peers_[peer].heap + location; }
  std::optional<Trouble> check(bool collective, std::span<const int> partners) override;
  void announce_failure(Code code, const std::string& text) override;
  CallSignature last_call(int peer) const override;
  bool knows_calls(int) const override { return true; }
  std::string describe_peer(int peer) const override;
  size_t shared_bytes() const override { return layout_.bytes; }

 private:
  // The sender's end of a ring in a peer's block.
  struct Outgoing {
    shm::Ring* ring;
    uint32_t next = 0;              // position of the next entry
    mutable uint32_t released = 0;  // as last read
    bool full() const;
    bool has_released(uint32_t position) const;  // and everything before
  };
  // The receiver's end of a ring in the own block.
  struct Incoming {
    shm::Ring* ring;
    uint32_t base = 0;      // oldest entry not given back
    uint32_t consumed = 0;  // bit i: entry base + i is done with
    void release(uint32_t position);
  };
  // Memory given out in order and taken back in order, as receivers release what they read: a ring, of which
  // what lies between tail and head is in use. It always goes once around: what was staged last lies in the
  // cache of the core that read it, and writing there again costs twice as much as writing to memory that has
  // moved on to the shared cache (docs/decisions/0003-staging-goes-around.md).
  struct Staging {
    struct Pending {
      size_t end;
      uint32_t position;
      int32_t peer;
      bool last;  // of its group
    };
    std::byte* base = nullptr;
    size_t bytes = 0;
    size_t head = 0, tail = 0;
    std::vector<Pending> pending;  // circular; empty: nothing is in use
    uint32_t first = 0, count = 0;
    // Where the next block would begin; SIZE_MAX: no room.
    size_t place_for(size_t wanted) const;
  };
  struct alignas(64) Peer {
    Outgoing out;
    Incoming in;
    Outgoing packets_out;
    Incoming packets_in;
    std::byte* heap;
    shm::RankState* state;
    Doorbell* bell;
    int64_t landing = -1;
    uint32_t landing_operation = 0;
    uint32_t last_direct = 0;  // position after the last direct message
    bool direct_pending = false;
    std::byte* block;
  };

  std::byte* take(Staging& staging, size_t bytes, bool packets);
  void reclaim(Staging& staging, bool packets);
  void remember(Staging& staging, int peer, uint32_t position, bool last);
  shm::Entry& open(Outgoing& out, Key key, shm::EntryKind kind);
  static void publish(Peer& peer, Outgoing& out, shm::Entry& entry);

  ShmHeap& own_;
  std::byte* const block_;
  const shm::BlockLayout layout_;
  shm::RankState& state_;
  shm::Departure* const departures_;
  std::vector<std::shared_ptr<PeerHeap>> heaps_;
  std::vector<Peer> peers_;
  Staging staging_, packet_staging_;
  CallSignature call_;
  int64_t output_location_ = -1;
  alignas(64) std::byte inline_buffer_[shm::kInlineBytes];
  std::byte* staged_ = nullptr;
};

}  // namespace wia
