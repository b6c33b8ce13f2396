// What the network's thread does on one socket at a time: listen, hear a stranger's hello, call a peer,
// close. Used by network.cpp alone.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "transport/network.hpp"

namespace wia {

class Listening final : public SocketTask {
 public:
  Listening(Network& network, FileDescriptor socket)
      : SocketTask(std::move(socket), Deadline::never()), network_(network) {}
  bool on_ready(uint32_t) override;
  bool on_time() override;

 private:
  Network& network_;
};

// Somebody who has connected and has proven nothing yet.
class Stranger final : public SocketTask {
 public:
  Stranger(Network& network, FileDescriptor socket);
  bool on_ready(uint32_t) override;

 private:
  bool judge();

  Network& network_;
  Challenge challenge_;
  Hello hello_;
  size_t got_ = 0;
};

// A call to a peer by one path.
class Caller final : public SocketTask {
 public:
  // pause: a moment later.
  static std::unique_ptr<Caller> make(Network& network, Door& door, int peer, int rail, const Path& path,
                                      bool pause);
  bool on_ready(uint32_t events) override;
  bool on_time() override;
  bool is_of(const Door& door) const { return &door == &door_; }
  bool is_of(const Door& door, int peer, int rail) const {
    return is_of(door) && peer_ == peer && rail_ == rail;
  }

 private:
  enum class Stage { pausing, connecting, awaiting_challenge, awaiting_reply };
  Caller(Network& network, Door& door, int peer, int rail, const Path& path, FileDescriptor socket,
         Deadline deadline)
      : SocketTask(std::move(socket), deadline),
        network_(network),
        door_(door),
        peer_(peer),
        rail_(rail),
        path_(path) {}
  void dial();
  bool connected();
  bool receive(void* what, size_t bytes);  // true: all there
  bool say_hello();
  bool hear_reply();
  bool failed(const std::string& reason, bool refused = false);

  Network& network_;
  Door& door_;
  const int peer_, rail_;
  const Path path_;
  Stage stage_ = Stage::connecting;
  int error_ = 0;                   // of dial()
  bool alone_long_enough_ = false;  // then the next path is tried, too
  bool ended_ = false;
  Challenge challenge_;
  Hello hello_;
  Reply reply_;
  size_t got_ = 0;
};

// A connection whose last bytes are on their way.
class Closing final : public SocketTask {
 public:
  Closing(std::atomic<int>& count, FileDescriptor socket, std::vector<std::byte> unsent);
  ~Closing() override { --count_; }
  bool on_ready(uint32_t) override;
  bool on_time() override;

 private:
  std::atomic<int>& count_;
  std::vector<std::byte> unsent_;
  size_t sent_ = 0;
  int looks_ = 0;
};

}  // namespace wia
