// The server's end of one connection: collects bytes until a frame is whole, sends what is queued, never
// waits.
//
// Not thread safe; the server's thread owns it. Holds at most one incomplete frame and what one read brings
// (kReadSize), and the replies that are queued.
#pragma once
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace wia {

class StoreConnection {
 public:
  static constexpr size_t kReadSize = 64 << 10;

  explicit StoreConnection(FileDescriptor socket) : socket_(std::move(socket)) {}

  int socket() const { return socket_.get(); }

  // Reads what has come, at most kReadSize. False: the other side is gone.
  bool read();
  // Whether the other side is still there, without taking any bytes.
  bool alive() const;

  // Takes `count` bytes; false: they are not there yet.
  bool take(size_t count, std::string* bytes);
  // What has come and was not taken yet.
  std::string_view unread() const { return std::string_view(input_).substr(taken_); }

  // Throws away what has come, and tells the other side that nothing follows what is queued: it can read that
  // in peace and close, where closing here might take it away.
  void say_goodbye();

  enum class Frame { whole, incomplete, oversized };
  Frame take_frame(size_t most, std::string* body);

  void queue(std::string bytes);
  // Sends what goes without waiting. False: the other side is gone.
  bool send();
  bool has_unsent() const { return sent_ < output_.size(); }

 private:
  FileDescriptor socket_;
  std::string input_, output_;
  size_t taken_ = 0, sent_ = 0;
};

}  // namespace wia
