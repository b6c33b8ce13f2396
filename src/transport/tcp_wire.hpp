// Frames over TCP: a connection for each pair of ranks and rail, opened when it is first needed. Messages
// take the rails in turn, and a rail that is full is passed over; packets take the first.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "transport/network.hpp"
#include "transport/tcp_connection.hpp"

namespace wia {

class TcpWire final : public Wire {
 public:
  struct Peer {
    std::string text;        // for people: "pid 12 of host n1"
    std::vector<int> rails;  // of the pair, as the network numbers them
  };
  // Peers by rank; the own entry, and those that are never talked to, may be empty.
  TcpWire(std::unique_ptr<Door> door, std::vector<Peer> peers);

  bool ready(int peer, FrameKind kind) override;
  void send(int peer, FrameKind kind, std::span<const std::byte> head, const std::byte* data, size_t bytes,
            MessageBuffer* buffer) override;
  bool flushed(int peer) override;
  bool flushed() override;
  bool poll(int peer) override;
  const Status* loss(int peer) const override;
  bool connected(int peer) override {
    take_arrivals();
    return way(peer).open > 0;
  }
  std::string describe(int peer) const override;
  void end(std::span<const std::byte> last_words) override;

 private:
  struct Way {
    Peer peer;
    std::vector<std::unique_ptr<TcpConnection>> rails;  // null: not open
    int open = 0;
    size_t next = 0;  // the rail for the next message
    bool asked = false;
    Status failure;
  };
  void open(Way& way, int peer);
  void take_arrivals();
  Way& way(int peer) { return ways_[static_cast<size_t>(peer)]; }

  std::unique_ptr<Door> door_;
  std::vector<Way> ways_;
  std::vector<int> connected_;  // peers
};

}  // namespace wia
