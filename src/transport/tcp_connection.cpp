#include "transport/tcp_connection.hpp"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>

#include "base/address.hpp"

namespace wia {
namespace {

std::string ends_of(int socket) {
  Address here, there;
  here.length = there.length = sizeof(sockaddr_storage);
  if (getsockname(socket, here.raw(), &here.length) != 0 ||
      getpeername(socket, there.raw(), &there.length) != 0)
    return "a connection that has ended";
  return here.text() + " - " + there.text();
}

iovec part(std::span<const std::byte> bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }

}  // namespace

TcpConnection::TcpConnection(FileDescriptor socket, MessagePool* pool)
    : socket_(std::move(socket)), pool_(pool), text_(ends_of(socket_.get())) {}

void TcpConnection::lose(const std::string& reason) {
  if (loss_.ok()) loss_ = Status(Code::unreachable, reason);
}

// --- Going out --------------------------------------------------------------------------------

void TcpConnection::send(std::span<const std::byte> head, const std::byte* data, size_t bytes,
                         MessageBuffer* buffer) {
  buffer_ = buffer;
  sending_ = true;
  // Little goes in one piece: the system takes that faster.
  memcpy(head_, head.data(), head.size());
  const size_t beside = head.size() + bytes <= kMaxHead ? bytes : 0;
  if (beside > 0) memcpy(head_ + head.size(), data, beside);
  head_left_ = {head_, head.size() + beside};
  data_left_ = {data + beside, bytes - beside};
  flush();
}

ssize_t TcpConnection::send_left() const {
  if (data_left_.empty()) return ::send(socket_.get(), head_left_.data(), head_left_.size(), MSG_NOSIGNAL);
  iovec parts[2] = {part(head_left_), part(data_left_)};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  return sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
}

bool TcpConnection::flush() {
  while (send_failure_.empty() && (!head_left_.empty() || !data_left_.empty())) {
    const ssize_t sent = send_left();
    if (sent < 0) {
      if (errno == EAGAIN) return false;
      if (errno == EINTR) continue;
      // What the peer sent before it went can still be read: read() finds the end.
      send_failure_ = fmt::format("the connection has failed: {}", strerror(errno));
      break;
    }
    const size_t of_head = std::min(static_cast<size_t>(sent), head_left_.size());
    head_left_ = head_left_.subspan(of_head);
    data_left_ = data_left_.subspan(static_cast<size_t>(sent) - of_head);
  }
  finish_sending();
  return true;
}

void TcpConnection::finish_sending() {
  sending_ = false;
  head_left_ = data_left_ = {};
  if (buffer_ && --buffer_->users == 0) pool_->give(buffer_);
  buffer_ = nullptr;
}

FileDescriptor TcpConnection::take_apart(FrameSink& sink, std::vector<std::byte>* unsent) {
  unsent->assign(head_left_.begin(), head_left_.end());
  unsent->insert(unsent->end(), data_left_.begin(), data_left_.end());
  finish_sending();
  if (arriving_.message) sink.broken_off(std::exchange(arriving_, {}));
  lose("this rank has closed the connection");
  return std::move(socket_);
}

// --- Coming in --------------------------------------------------------------------------------

bool TcpConnection::received(ssize_t count) {
  if (count > 0) return true;
  if (count == 0) {
    lose(send_failure_.empty() ? "it has closed the connection" : send_failure_);
  } else if (errno != EAGAIN && errno != EINTR) {
    lose(fmt::format("the connection has failed: {}", strerror(errno)));
  }
  return false;
}

// False: no whole header is there.
bool TcpConnection::begin_frame(int peer, FrameSink& sink) {
  if (buffered() < sizeof header_) {
    memmove(input_, input_ + begin_, buffered());
    end_ = buffered();
    begin_ = 0;
    const ssize_t count = recv(socket_.get(), input_ + end_, kInputBytes - end_, 0);
    if (!received(count)) return false;
    end_ += static_cast<size_t>(count);
    if (buffered() < sizeof header_) return false;
  }
  memcpy(&header_, input_ + begin_, sizeof header_);
  begin_ += sizeof header_;
  got_ = 0;
  arriving_ = sink.begin(peer, header_);
  if (!arriving_.message) lose("the peer sent what makes no sense, or there is no memory for it");
  return arriving_.message != nullptr;
}

// False: it is not all there.
bool TcpConnection::receive_frame() {
  const size_t ready = std::min(buffered(), header_.bytes - got_);
  memcpy(arriving_.data + got_, input_ + begin_, ready);
  begin_ += ready;
  got_ += ready;
  while (got_ < header_.bytes) {
    begin_ = end_ = 0;
    iovec parts[2] = {{arriving_.data + got_, header_.bytes - got_}, {input_, kReadAhead}};
    const ssize_t count = readv(socket_.get(), parts, 2);
    if (!received(count)) return false;
    const size_t of_frame = std::min(static_cast<size_t>(count), header_.bytes - got_);
    got_ += of_frame;
    end_ = static_cast<size_t>(count) - of_frame;
  }
  return true;
}

bool TcpConnection::read(int peer, FrameSink& sink) {
  while (loss_.ok()) {
    if (!arriving_.message && !begin_frame(peer, sink)) return false;
    if (!receive_frame()) return false;
    sink.arrived(peer, header_, std::exchange(arriving_, {}));
    if (header_.kind == FrameKind::data || header_.kind == FrameKind::packet) return true;
  }
  return false;
}

}  // namespace wia
