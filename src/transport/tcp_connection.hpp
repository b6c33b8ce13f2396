// One TCP connection between two ranks, frames in both directions. Nothing blocks; used by one thread at a
// time.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "transport/wire.hpp"

namespace wia {

class TcpConnection {
 public:
  TcpConnection(FileDescriptor socket, MessagePool* pool);

  // False: the peer takes nothing more. The connection is lost once all that it has sent is read.
  bool can_send() const { return send_failure_.empty() && loss_.ok(); }
  // Part of a frame waits for the socket: no other may be sent.
  bool is_busy() { return sending_ && !flush(); }
  // See Wire::send. Not while busy.
  void send(std::span<const std::byte> head, const std::byte* data, size_t bytes, MessageBuffer* buffer);
  // Reads up to the end of the next message or packet; true if it came.
  bool read(int peer, FrameSink& sink);
  const Status& loss() const { return loss_; }
  const std::string& text() const { return text_; }  // "10.0.0.1:5 - 10.0.0.2:4711"

  // The end: the socket, and what of a frame is still to be sent there. No memory of others is used any more.
  FileDescriptor take_apart(FrameSink& sink, std::vector<std::byte>* unsent);

 private:
  static constexpr size_t kInputBytes = 4096;
  static constexpr size_t kReadAhead = 256;  // behind a long frame: the next header
  static constexpr size_t kMaxHead = 256;

  bool flush();  // true: all is sent
  ssize_t send_left() const;
  void finish_sending();
  bool begin_frame(int peer, FrameSink& sink);
  bool receive_frame();
  bool received(ssize_t count);
  size_t buffered() const { return end_ - begin_; }
  void lose(const std::string& reason);

  FileDescriptor socket_;
  MessagePool* const pool_;
  std::string text_;
  Status loss_;

  // Going out: what is left of the frame under way.
  bool sending_ = false;
  std::string send_failure_;  // nothing more can be sent
  std::byte head_[kMaxHead];
  std::span<const std::byte> head_left_, data_left_;
  MessageBuffer* buffer_ = nullptr;

  // Coming in.
  std::byte input_[kInputBytes];
  size_t begin_ = 0, end_ = 0;
  FrameHeader header_;
  Arriving arriving_;  // no message: between two frames
  size_t got_ = 0;
};

}  // namespace wia
