// How a connection to a store opens, as the client sees it, and how a reply is read. Blocking, until a
// deadline. No state; thread safe.
#pragma once
#include "base/file_descriptor.hpp"
#include "bootstrap/socket.hpp"
#include "bootstrap/store_protocol.hpp"

namespace wia {

// Codes and texts as connect_store_once.
Result<FileDescriptor> open_store_connection(const std::string& host, int port,
                                             const store_protocol::Hello& hello, Deadline deadline);

Result<store_protocol::Reply> receive_store_reply(int socket, Deadline deadline);

}  // namespace wia
