// Messages between two ranks, matched by tag, over an endpoint's packet stream.
//
// A short message travels with its header (eager). A longer one is announced (request); once the receiver has
// a matching buffer, the receiver reads it straight from the sender's memory, or the sender writes it
// straight into the receiver's, or else, where neither can be reached, it comes in pieces: staged, or over a
// network as messages with a place of their own. Only matched messages take staging memory, so messages that
// nobody receives yet never block others. Thread safety: as the endpoint; one thread at a time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "transport/endpoint.hpp"

namespace wia {

// One send or receive. The caller keeps it until `finished`.
struct Transfer {
  static constexpr int kAnyPeer = -1;

  bool sends = false;
  int peer = 0;  // of a receive, kAnyPeer: whoever sends first with this tag; then that rank
  int tag = 0;
  std::byte* data = nullptr;  // a send only reads it
  size_t bytes = 0;
  bool finished = false;
  Status status;

  // Below: PointToPoint's own.
  enum class Stage : uint8_t {
    queued,
    announced,
    streaming,
    writing,
    written,
    posted,
    matched,
    reading,
    read,
    receiving,
    taking,
    leaving
  } stage = Stage::queued;
  uint32_t id = 0, peer_id = 0;
  int64_t location = -1;
  size_t moved = 0;
};

class PointToPoint {
 public:
  explicit PointToPoint(Endpoint& endpoint);

  void start(Transfer& transfer);
  // Moves everything as far as it goes; true if anything moved.
  bool progress();
  bool idle() const { return active_.empty(); }
  // Takes back a transfer that has not met its partner.
  void cancel(Transfer& transfer);
  // Ends all transfers with this error.
  void fail(const Status& status);
  // Ranks that transfers wait for, with tag, for error texts: "a send of 8 bytes to rank 1 with tag 3 (no
  // matching receive)".
  std::string describe() const;

 private:
  enum PacketType : uint8_t { eager, request, ready, piece, done, written };
  struct Header {
    int32_t tag;
    uint32_t id, peer_id;
    uint32_t unused;
    uint64_t bytes, offset;
    int64_t location;
  };
  static_assert(sizeof(Header) == Packet::kHeaderBytes);
  struct Unexpected {
    Header header;
    bool is_eager;
    std::vector<std::byte> data;
  };
  struct Peer {
    std::deque<Transfer*> starting;     // sends whose first packet is not out yet, in order
    std::deque<Transfer*> posted;       // receives without a message
    std::deque<Unexpected> unexpected;  // messages without a receive
    int transfers = 0;                  // under way
    bool is_partner = false;            // stands in partners_
  };

  void join(Transfer& transfer, int peer);
  bool match_unexpected(Transfer& receive, int peer);
  Transfer* take_posted(int peer, int tag);
  bool take_packet(int peer);
  void handle(int peer, const Packet& packet);
  void match(Transfer& receive, const Header& header, const std::byte* eager_data);
  bool step(Transfer& transfer);
  bool post_pieces(Transfer& transfer);
  bool take_pieces(Transfer& transfer);
  bool start_sends(int peer);
  void leave(Transfer& transfer, Status status);
  void forget(Transfer& transfer);
  void finish(Transfer& transfer, Status status = {});
  Transfer* find(uint32_t id);

  Endpoint& endpoint_;
  std::vector<Peer> peers_;
  std::unordered_map<uint32_t, Transfer*> active_;
  std::vector<Transfer*> moving_;   // those that step() can carry on
  std::vector<int> partners_;       // peers with transfers under way; some may have had their last
  std::deque<Transfer*> anywhere_;  // receives from any peer without a message
  uint32_t next_id_ = 1;
};

}  // namespace wia
