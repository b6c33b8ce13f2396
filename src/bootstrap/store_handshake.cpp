#include "bootstrap/store_handshake.hpp"

#include <sys/socket.h>

namespace wia {

using store_protocol::Answer;
using store_protocol::Reply;

namespace {

// What a stranger said, for people: printable and short.
std::string excerpt(std::string_view bytes) {
  std::string text;
  for (const char c : bytes.substr(0, 24)) text += c >= ' ' && c <= '~' ? c : '.';
  return text;
}

Status not_this_protocol(int socket, std::string said) {
  char more[24];
  const ssize_t count = recv(socket, more, sizeof more, MSG_DONTWAIT);
  if (count > 0) said.append(more, static_cast<size_t>(count));
  if (said.empty())
    return Status(Code::protocol, "something that does not speak this protocol closed the connection");
  return Status::error(Code::protocol, "something that does not speak this protocol answers (\"{}\")",
                       excerpt(said));
}

// Reads the server's opening, byte by byte as they come, so that a stranger's first words can be shown.
Status receive_opening(int socket, Deadline deadline) {
  const std::string expected = store_protocol::opening(store_protocol::kServerMagic);
  std::string got;
  while (got.size() < expected.size()) {
    char byte = 0;
    const Status status = receive_all(socket, &byte, 1, deadline);
    if (status.code() == Code::timeout)
      return Status(Code::timeout, "the connection is accepted, but there is no answer");
    if (!status.ok()) return not_this_protocol(socket, got);
    got += byte;
    const bool is_version = got.size() == expected.size();
    if (is_version && got != expected)
      return Status::error(Code::protocol, "another version of this protocol is spoken there ({}, not {})",
                           static_cast<int>(static_cast<uint8_t>(byte)), store_protocol::kVersion);
    if (!is_version && byte != expected[got.size() - 1]) return not_this_protocol(socket, got);
  }
  return {};
}

Status status_of(const Reply& reply) {
  switch (reply.answer) {
    case Answer::ok:
      return {};
    case Answer::another_job:
    case Answer::wrong_secret:
      return Status::error(Code::protocol, "another job: {}", reply.text);
    case Answer::world_size:
      return Status::error(Code::invalid_argument, "{}; start all with the same number of ranks", reply.text);
    case Answer::rank_taken:
      return Status::error(Code::invalid_argument, "{}; start every rank once", reply.text);
    default:
      return Status::error(Code::protocol, "refused: {}", reply.text);
  }
}

}  // namespace

Result<Reply> receive_store_reply(int socket, Deadline deadline) {
  char head[4];
  WIA_RETURN_IF_ERROR(receive_all(socket, head, sizeof head, deadline));
  const size_t length = store_protocol::frame_length({head, sizeof head});
  if (length > store_protocol::kMaxReply) return Status(Code::protocol, "a reply of impossible length");
  std::string body(length, '\0');
  WIA_RETURN_IF_ERROR(receive_all(socket, body.data(), length, deadline));
  std::optional<Reply> reply = store_protocol::decode_reply(body);
  if (!reply) return Status(Code::protocol, "a reply that makes no sense");
  return std::move(*reply);
}

Result<FileDescriptor> open_store_connection(const std::string& host, int port,
                                             const store_protocol::Hello& hello, Deadline deadline) {
  Result<FileDescriptor> connection = connect_to(host, port, deadline);
  if (!connection.ok()) return connection;
  const int socket = connection->get();
  // A stranger may close at once; what it said before that tells more than the failure to send.
  const std::string bytes = store_protocol::opening(store_protocol::kClientMagic) + encode(hello);
  [[maybe_unused]] const Status sent = send_all(socket, bytes, deadline);
  WIA_RETURN_IF_ERROR(receive_opening(socket, deadline));
  Result<Reply> reply = receive_store_reply(socket, deadline);
  if (!reply.ok()) return reply.take_status();
  WIA_RETURN_IF_ERROR(status_of(*reply));
  return connection;
}

}  // namespace wia
