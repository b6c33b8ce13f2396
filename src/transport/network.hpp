// The process's part in the network: a listening socket, and a thread that opens connections between ranks,
// lets those of other processes in, closes old ones gently, and wakes sleepers when something comes.
//
// Data itself is moved by whoever waits for it. A communicator has a Door; through it come its connections,
// each ready for frames. Thread safe.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/keyed_hash.hpp"
#include "base/wait.hpp"
#include "transport/network_address.hpp"
#include "transport/network_handshake.hpp"
#include "transport/socket_loop.hpp"

namespace wia {

class Network;

// A connection that stands, or the reason why there will be none.
struct Arrival {
  int peer = 0, rail = 0;
  FileDescriptor socket;
  Status failure;  // not ok: no socket
};

class Door {
 public:
  ~Door();
  // Begins to connect, unless that was done or the connection stands.
  void connect(int peer, int rail);
  bool has_arrivals() const { return waiting_.load(std::memory_order_acquire); }
  std::vector<Arrival> take_arrivals();
  // What the attempts to reach the peer have met with so far; empty: nothing to tell.
  std::string difficulties(int peer) const;

 private:
  friend class Network;
  friend class Caller;
  friend class Stranger;
  // A rail of a pair: being opened, or open.
  struct Way {
    bool open = false;
    int calls = 0;         // under way
    size_t next_path = 0;  // of this round
    int rounds = 0, refusals = 0;
    std::string last_reason;
  };
  explicit Door(Network& network) : network_(network) {}
  std::vector<const Path*> paths_for(int peer, int rail) const;
  Status no_descriptors(int peer) const;

  Network& network_;
  uint64_t communicator_ = 0;
  HashKey key_;
  int rank_ = 0;
  std::vector<Paths> paths_;  // by peer
  // Below: under the loop's mutex.
  std::map<std::pair<int, int>, Way> ways_;  // by peer and rail
  std::vector<Arrival> arrivals_;
  std::atomic<bool> waiting_{false};
};

class Network {
 public:
  // The one of this process, made on first use: listens on all addresses, at a port that the system chooses.
  static Result<Network*> instance();
  static Network* existing();

  int port() const { return port_; }
  // `communicator` and `key`: the same on all ranks, and nobody else's. `paths[r]`: to rank r. From then on
  // peers can connect.
  std::unique_ptr<Door> open(uint64_t communicator, const HashKey& key, int rank, std::vector<Paths> paths);

  // Before a sleep at the bell: it rings when something comes on any connection. A process has one bell.
  void arm(Doorbell& bell);
  // The bell rings for this descriptor, too, while it is readable. It must not be closed.
  bool watch(int descriptor);
  // Something has come that no connection of this network tells of.
  void ring() {
    if (Doorbell* bell = bell_.load(std::memory_order_relaxed)) bell->ring();
  }

  // Sends what is left, waits (for a few seconds at most) until the peer's system has it, and closes.
  void close_gently(FileDescriptor socket, std::vector<std::byte> unsent);
  // False: some are still being closed at the deadline.
  bool wait_until_closed(Deadline deadline);

 private:
  friend class Door;
  friend class Caller;
  friend class Stranger;
  Network() = default;
  Status start();
  friend class Listening;
  void hear_stranger(FileDescriptor stranger);
  Reply::Answer answer(const Hello& hello, const Challenge& challenge, Door** door);
  void call(Door& door, int peer, int rail);
  void call_by_next_path(Door& door, int peer, int rail);
  void call_failed(Door& door, int peer, int rail, const std::string& reason, bool refused);
  void give_up(Door& door, int peer, int rail, Status reason);
  void deliver(Door& door, Arrival arrival);
  void stop_calls(const Door& door, int peer, int rail);

  SocketLoop loop_;
  FileDescriptor data_epoll_;  // of all connections: what may wake a sleeper
  int port_ = 0;
  std::atomic<Doorbell*> bell_{nullptr};
  SocketTask* bell_task_ = nullptr;
  // Below: under the loop's mutex.
  std::map<std::pair<uint64_t, int>, Door*> doors_;
  std::atomic<int> closing_{0};
};

}  // namespace wia
