#include "bootstrap/store_connection.hpp"

#include <errno.h>
#include <sys/socket.h>

#include "bootstrap/store_protocol.hpp"

namespace wia {

bool StoreConnection::read() {
  input_.erase(0, taken_);
  taken_ = 0;
  char buffer[kReadSize];
  const ssize_t received = recv(socket(), buffer, sizeof buffer, 0);
  if (received > 0) input_.append(buffer, static_cast<size_t>(received));
  return received > 0 || (received < 0 && (errno == EAGAIN || errno == EINTR));
}

bool StoreConnection::alive() const {
  char byte;
  const ssize_t received = recv(socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return received > 0 || (received < 0 && errno == EAGAIN);
}

bool StoreConnection::take(size_t count, std::string* bytes) {
  if (unread().size() < count) return false;
  *bytes = unread().substr(0, count);
  taken_ += count;
  return true;
}

StoreConnection::Frame StoreConnection::take_frame(size_t most, std::string* body) {
  if (unread().size() < 4) return Frame::incomplete;
  const size_t length = store_protocol::frame_length(unread());
  if (length > most) return Frame::oversized;
  if (unread().size() < 4 + length) return Frame::incomplete;
  taken_ += 4;
  take(length, body);
  return Frame::whole;
}

void StoreConnection::say_goodbye() {
  taken_ = input_.size();
  if (!has_unsent()) shutdown(socket(), SHUT_WR);
}

void StoreConnection::queue(std::string bytes) {
  if (has_unsent()) {
    output_ += bytes;
  } else {
    output_ = std::move(bytes);
    sent_ = 0;
  }
}

bool StoreConnection::send() {
  while (has_unsent()) {
    const std::string_view rest = std::string_view(output_).substr(sent_);
    const ssize_t sent = ::send(socket(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    sent_ += static_cast<size_t>(sent);
  }
  output_ = {};
  sent_ = 0;
  return true;
}

}  // namespace wia
