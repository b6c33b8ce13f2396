// What the engine needs of a transport: one Endpoint per rank and communicator.
//
// Collectives exchange *messages* that are found by key, not by order of arrival; point-to-point
// traffic is a second, in-order stream (Packets). Nothing here blocks: "not now" is a null pointer or false,
// and the caller comes back. Data is sent in one of three ways, the transport's choice left to its size
// limits:
//   staged  the sender writes into memory of the transport (stage), then publishes it (post); the
//           receiver reads it there (find) and gives it back (release);
//   direct  the receiver reads the sender's own buffer (post_direct); the sender may not change
//           it until drained() says so;
//   landed  the sender has written straight into the receiver's output (landing, post_landed).
//
// One thread at a time uses an endpoint (the communicator's lock); check() and the const queries are for
// that thread too.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/deadline.hpp"
#include "base/status.hpp"

namespace wia {

// Which message of a collective: equal on both ends.
struct Key {
  uint32_t operation = 0;  // sequence number of the call on this communicator
  uint32_t slice = 0;
  uint32_t tag = 0;
  bool operator==(const Key&) const = default;
};

// The n-th piece of a long transfer, which the receiver knows by this id. No message of a collective has this
// tag.
inline constexpr uint32_t kTransferTag = UINT32_MAX - 1;
inline Key transfer_key(uint32_t id, uint32_t piece) { return {id, piece, kTransferTag}; }

// A message that has arrived. Valid until released.
struct Message {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  uint32_t signature = 0;  // hash of the sender's call
  uint32_t handle = 0;     // for release()
};

// A call as its rank made it: told to the others so that differences are found and named.
struct CallSignature {
  uint64_t sequence = 0;
  uint64_t count = 0;
  int32_t root = 0;
  uint8_t collective = 0, dtype = 0, op = 0, algorithm = 0;
  uint32_t content = 0;  // hash of everything above but the sequence, and of what has no field here
  uint32_t hash = 0;     // of content and sequence
};
static_assert(sizeof(CallSignature) == 32);

// A short point-to-point packet: a header, and data that is staged or fits beside it.
struct Packet {
  static constexpr size_t kHeaderBytes = 40;
  uint8_t type = 0;
  std::byte header[kHeaderBytes];
  const std::byte* data = nullptr;  // received: valid until pop()
  size_t bytes = 0;
};

// What an endpoint noticed about a peer while the engine waited.
struct Trouble {
  enum Kind { dead, left, failed, mismatch } kind;
  int peer;
  CallSignature signature;  // mismatch: what the peer called
  Code code = Code::ok;     // failed: the peer's reason
  std::string text;         // failed: the peer's reason; dead: how it was noticed
};

class Endpoint {
 public:
  Endpoint(int rank, int size) : rank_(rank), size_(size) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  virtual ~Endpoint() = default;
  int rank() const { return rank_; }
  int size() const { return size_; }

  // --- A collective call begins and ends. `to_tell`: peers that learn of it by no message of this rank.
  // `output`: where peers may land results, if they can reach it (null: nowhere).
  virtual void enter(const CallSignature& call, std::span<const int> to_tell, std::byte* output,
                     size_t output_bytes) = 0;
  virtual void leave() = 0;
  // From now on messages to a peer take so many NICs at most; 0: all. What has none ignores it.
  virtual void use_rails(int) {}
  // Whether `peer` has entered this call; its hash then differs if it made another call.
  enum class Entered { no, same, other };
  virtual Entered entered(int peer) = 0;

  // --- Sending. All calls address a group of peers that get the same data under the same key.
  // The most bytes that stage() can ever give.
  virtual size_t max_staged() const = 0;
  // Room for a message of `bytes`; null: not now. The next call on this endpoint that sends is post().
  virtual std::byte* stage(std::span<const int> peers, size_t bytes) = 0;
  virtual void post(std::span<const int> peers, Key key, size_t bytes) = 0;
  // Whether these peers can be given [data, data + bytes) without a copy.
  virtual bool can_send_direct(std::span<const int> peers, const std::byte* data, size_t bytes) const = 0;
  // False: not now.
  virtual bool post_direct(std::span<const int> peers, Key key, const std::byte* data, size_t bytes) = 0;
  // Peer's output buffer of this call as seen from here; null: not reachable, or nothing was heard from it
  // yet.
  virtual std::byte* landing(int peer) const = 0;
  // Tells that `bytes` were written at `data` (an address inside landing(peer)). False: not now.
  virtual bool post_landed(int peer, Key key, const std::byte* data, size_t bytes) = 0;
  virtual bool can_post(int peer) = 0;
  // All that was sent in this call is on its way, and direct messages were read.
  virtual bool drained() = 0;

  // --- Receiving
  // False: nothing there yet; then *message is as it was. `place` (may be empty): where the message's bytes,
  // just so many, will be copied to; a transport that receives by copying may put them there at once.
  virtual bool find(int peer, Key key, Message* message, std::span<std::byte> place) = 0;
  bool find(int peer, Key key, Message* message) { return find(peer, key, message, {}); }
  virtual void release(int peer, const Message& message) = 0;

  // --- Point to point
  virtual size_t max_packet_data() const = 0;
  // The header is copied; the data may be changed once flushed(). False: not now.
  virtual bool push(int peer, uint8_t type, const void* header, size_t header_bytes, const std::byte* data,
                    size_t bytes) = 0;
  // All that was pushed to the peer is on its way: this rank need not come back for it.
  virtual bool flushed(int peer) = 0;
  // The oldest packet of `peer`, in place; false: none. pop() gives it back.
  virtual bool peek(int peer, Packet* packet) = 0;
  virtual void pop(int peer) = 0;
  // Whether long transfers with the peer go as messages of their own, by transfer_key(): post_direct() of any
  // memory, found with a place.
  virtual bool carries_transfers(int peer) const = 0;
  // A number under which `peer` reaches this memory; negative: it cannot. resolve() is the other side.
  virtual int64_t locate(int peer, const std::byte* data, size_t bytes) const = 0;
  virtual std::byte* resolve(int peer, int64_t location) const = 0;

  // --- Trouble. Looks at the peers' state; called now and then by waits, may make system calls. A peer that
  // is gone is trouble if a collective is under way that it has not finished, or if it is one of `partners`
  // (of transfers).
  virtual std::optional<Trouble> check(bool collective, std::span<const int> partners) = 0;
  // Tells the peers why this rank's communicator is lost. The first reason stands.
  virtual void announce_failure(Code code, const std::string& text) = 0;
  // "rank 2 has not entered it (its last call was ...)": state of a peer as far as known, for error texts.
  virtual CallSignature last_call(int peer) const = 0;
  virtual bool knows_calls(int peer) const = 0;           // false: last_call() may be out of date
  virtual std::string describe_peer(int peer) const = 0;  // "pid 1234", "10.0.0.2 by eth0"
  // Bytes of shared memory of this rank's part.
  virtual size_t shared_bytes() const = 0;

 private:
  const int rank_, size_;
};

}  // namespace wia
