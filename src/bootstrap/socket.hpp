// TCP sockets with time limits: listening, connecting, sending and receiving whole messages.
//
// Every socket is non-blocking, closed on exec, and never raises SIGPIPE. The functions keep no state; one
// socket belongs to one thread at a time. Errors say what failed, without host and port, which the
// caller knows and names.
#pragma once
#include <string>
#include <string_view>

#include "base/deadline.hpp"
#include "base/file_descriptor.hpp"
#include "base/status.hpp"
#include "bootstrap/resolve.hpp"

namespace wia {

struct Listener {
  FileDescriptor socket;
  int port = 0;
};

// Listens on the first of the host's addresses that this machine has. Errors name address, port and reason;
// Code::busy: the port is in use, Code::system: anything else.
Result<Listener> listen_on(const std::string& host, int port, Deadline deadline);

// A connection to the first of the host's addresses that takes one. Code::unreachable: refused, no route, no
// such host; Code::timeout: no answer until the deadline.
Result<FileDescriptor> connect_to(const std::string& host, int port, Deadline deadline);

// Code::unreachable: the peer is gone; Code::timeout.
Status send_all(int socket, std::string_view bytes, Deadline deadline);
Status receive_all(int socket, char* bytes, size_t count, Deadline deadline);

}  // namespace wia
