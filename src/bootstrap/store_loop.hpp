// What the store's server does: one thread that waits in epoll for strangers, members and the time.
//
// A connection is a stranger until its hello was accepted; strangers are dropped kHelloMs after they came,
// and the oldest is dropped when there are too many or when descriptors run out. A member has one call at a
// time; its next one is read when the reply of the last is sent.
// Threads: what is public belongs to the owner; everything else, to the thread that run() starts.
#pragma once
#include <sys/epoll.h>

#include <cstdint>
#include <set>
#include <thread>
#include <unordered_map>

#include "bootstrap/socket.hpp"
#include "bootstrap/store.hpp"
#include "bootstrap/store_connection.hpp"
#include "bootstrap/store_gate.hpp"
#include "bootstrap/store_table.hpp"

namespace wia {

class StoreLoop {
 public:
  StoreLoop(Listener listener, JobIdentity identity)
      : listener_(std::move(listener)), gate_(std::move(identity)) {}
  ~StoreLoop();

  Status run();  // starts the thread; the destructor ends it
  int port() const { return listener_.port; }
  StoreGate& gate() { return gate_; }

 private:
  struct Client {
    explicit Client(FileDescriptor socket) : connection(std::move(socket)) {}
    StoreConnection connection;
    enum class State { opening, hello, member, leaving } state = State::opening;
    store_protocol::Hello hello;  // of a member
    int64_t leave_at = 0;         // of a stranger
    bool waits = false;           // for the reply of a call
    uint32_t events = EPOLLIN;
  };

  void loop();
  int milliseconds_to_wait() const;
  void handle_event(uint64_t about, uint32_t events);
  void accept_some();
  bool make_room();
  void serve(uint64_t id, uint32_t events);
  bool advance(uint64_t id, Client& client);
  bool take_opening(Client& client);
  bool take_hello(uint64_t id, Client& client);
  bool take_request(uint64_t id, Client& client, bool* taken);
  void drop_dead_holder(int rank);
  void drop(uint64_t id);
  void note_left(int rank, bool left);
  void drop_overdue_strangers();
  void deliver_ready();
  void watch(int socket, uint64_t about, uint32_t events, int operation);

  Listener listener_;
  StoreGate gate_;
  StoreTable table_;
  FileDescriptor epoll_, stop_;
  std::unordered_map<uint64_t, Client> clients_;
  std::set<uint64_t> strangers_;  // in the order of their coming
  uint64_t next_id_ = 2;          // 0 and 1 mean other things in events
  int64_t accept_again_at_ = 0;   // 0: accepting
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace wia
