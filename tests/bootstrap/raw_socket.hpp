// A bare TCP connection to a port of this host, and a listener that is no store, for tests that play
// strangers.
#pragma once
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <string_view>
#include <thread>

#include "bootstrap/socket.hpp"

namespace wia {

class RawSocket {
 public:
  explicit RawSocket(int port) {
    auto made = connect_to("127.0.0.1", port, Deadline::after_ms(5000));
    EXPECT_TRUE(made.ok()) << made.status().text();
    if (made.ok()) socket_ = std::move(*made);
  }
  void send(std::string_view bytes) {
    [[maybe_unused]] const Status sent = send_all(socket_.get(), bytes, Deadline::after_ms(5000));
  }
  // What comes until the other side closes; `closed` says whether it did within the time.
  std::string read_to_end(int ms, bool* closed) {
    std::string got;
    *closed = false;
    for (const Deadline deadline = Deadline::after_ms(ms); !*closed;) {
      pollfd entry = {socket_.get(), POLLIN, 0};
      if (poll(&entry, 1, deadline.left_ms()) <= 0) break;
      char buffer[4096];
      const ssize_t count = recv(socket_.get(), buffer, sizeof buffer, 0);
      if (count > 0) got.append(buffer, static_cast<size_t>(count));
      *closed = count <= 0;
    }
    return got;
  }
  int get() const { return socket_.get(); }

 private:
  FileDescriptor socket_;
};

// Accepts connections and answers each with fixed bytes (perhaps none), then closes it if asked to.
class Stranger {
 public:
  Stranger(std::string answer, bool closes) : answer_(std::move(answer)), closes_(closes) {
    auto listener = listen_on("127.0.0.1", 0, Deadline::after_ms(5000));
    EXPECT_TRUE(listener.ok());
    listener_ = std::move(*listener);
    thread_ = std::thread([this] { loop(); });
  }
  ~Stranger() {
    ::shutdown(listener_.socket.get(), SHUT_RDWR);
    thread_.join();
  }
  int port() const { return listener_.port; }

 private:
  void loop() {
    std::vector<FileDescriptor> taken;
    for (;;) {
      pollfd entry = {listener_.socket.get(), POLLIN, 0};
      poll(&entry, 1, -1);
      FileDescriptor socket(accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) return;
      [[maybe_unused]] const Status sent = send_all(socket.get(), answer_, Deadline::after_ms(1000));
      if (!closes_) taken.push_back(std::move(socket));
    }
  }

  std::string answer_;
  bool closes_;
  Listener listener_;
  std::thread thread_;
};

}  // namespace wia
