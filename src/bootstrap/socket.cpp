#include "bootstrap/socket.hpp"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>

namespace wia {
namespace {

std::string why_not_connected(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "connection refused";
    case EHOSTUNREACH:
      return "no route to host";
    case ENETUNREACH:
      return "network is unreachable";
    case EINVAL:
      return "no route to host (blackhole)";
    case EACCES:
    case EPERM:
      return "forbidden by a route or a firewall";
    case ETIMEDOUT:
      return "no answer";
    default:
      return strerror(error);
  }
}

// "; this host has no IPv4 address", if that is so.
std::string family_remark(const Address& address) {
  ifaddrs* entries = nullptr;
  if (getifaddrs(&entries) != 0) return {};
  bool has_own = false, has_other = false;
  for (const ifaddrs* entry = entries; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6))
      continue;
    Address own;
    own.length = entry->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    memcpy(&own.storage, entry->ifa_addr, own.length);
    const auto& in6 = reinterpret_cast<const sockaddr_in6*>(&own.storage)->sin6_addr;
    if (own.is_loopback() || (own.family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6))) continue;
    (own.family() == address.family() ? has_own : has_other) = true;
  }
  freeifaddrs(entries);
  if (has_own) return {};
  const auto name = [](bool six) { return six ? "IPv6" : "IPv4"; };
  const bool six = address.family() == AF_INET6;
  return has_other ? fmt::format("; it is an {} address, and this host has only {}", name(six), name(!six))
                   : fmt::format("; this host has no {} address but loopback", name(six));
}

std::string why_not_listening(int error) {
  switch (error) {
    case EADDRINUSE:
      return "port is in use";
    case EACCES:
      return "no permission for this port";
    case EADDRNOTAVAIL:
      return "not an address of this machine";
    default:
      return strerror(error);
  }
}

FileDescriptor open_socket(int family) {
  return FileDescriptor(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void switch_on(int socket, int level, int option, int value = 1) {
  setsockopt(socket, level, option, &value, sizeof value);
}

// Waits for `events`; false: the deadline passed first.
bool wait_for(int socket, short events, Deadline deadline) {
  for (;;) {
    pollfd entry = {socket, events, 0};
    const int ready = poll(&entry, 1, deadline.left_ms());
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (deadline.passed()) return false;
  }
}

Result<Listener> listen_at(const Address& address, int* error) {
  Listener listener;
  listener.socket = open_socket(address.family());
  const int fd = listener.socket.get();
  switch_on(fd, SOL_SOCKET, SO_REUSEADDR);
  if (address.family() == AF_INET6) switch_on(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (fd < 0 || bind(fd, address.raw(), address.length) != 0 || listen(fd, SOMAXCONN) != 0) {
    *error = errno;
    return Status::error(*error == EADDRINUSE ? Code::busy : Code::system, "cannot listen on {}: {}",
                         address.text(), why_not_listening(*error));
  }
  Address bound;
  bound.length = sizeof bound.storage;
  getsockname(fd, bound.raw(), &bound.length);
  listener.port = bound.port();
  return listener;
}

// A connection from a port to itself: what the kernel may make of a port in the range of outgoing ones where
// nobody listens.
bool is_connected_to_itself(int socket) {
  Address here, there;
  here.length = there.length = sizeof(sockaddr_storage);
  if (getsockname(socket, here.raw(), &here.length) != 0) return false;
  if (getpeername(socket, there.raw(), &there.length) != 0) return false;
  return here.length == there.length && memcmp(here.raw(), there.raw(), here.length) == 0;
}

Result<FileDescriptor> connect_at(const Address& address, Deadline deadline) {
  FileDescriptor made = open_socket(address.family());
  int error = 0;
  if (!made || connect(made.get(), address.raw(), address.length) != 0) error = errno;
  if (error == EINPROGRESS) {
    if (!wait_for(made.get(), POLLOUT, deadline)) return Status(Code::timeout, "no answer");
    socklen_t length = sizeof error;
    getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error == 0 && is_connected_to_itself(made.get())) error = ECONNREFUSED;
  if (error == ETIMEDOUT) return Status(Code::timeout, why_not_connected(error));
  if (error != 0)
    return Status(Code::unreachable,
                  why_not_connected(error) + (error == ENETUNREACH ? family_remark(address) : ""));
  switch_on(made.get(), IPPROTO_TCP, TCP_NODELAY);
  switch_on(made.get(), SOL_SOCKET, SO_KEEPALIVE);
  return made;
}

}  // namespace

Result<Listener> listen_on(const std::string& host, int port, Deadline deadline) {
  Result<std::vector<Address>> addresses = resolve(host, port, Purpose::listen, deadline);
  if (!addresses.ok())
    return Status::error(Code::system, "cannot listen on {}: {}", host_and_port(host, port),
                         addresses.status().text());
  Status last;
  for (const Address& address : *addresses) {
    int error = 0;
    Result<Listener> listener = listen_at(address, &error);
    // A port that is taken or not allowed is final: on another address clients would meet a stranger.
    if (listener.ok() || error == EADDRINUSE || error == EACCES) return listener;
    last = listener.take_status();
  }
  return last;
}

Result<FileDescriptor> connect_to(const std::string& host, int port, Deadline deadline) {
  Result<std::vector<Address>> addresses = resolve(host, port, Purpose::connect, deadline);
  if (!addresses.ok()) return addresses.take_status();
  Code code = Code::timeout;
  std::string reasons;
  int left = static_cast<int>(addresses->size());
  for (const Address& address : *addresses) {
    const Deadline share = Deadline::after_ms(deadline.left_ms() / left--).earlier(deadline);
    Result<FileDescriptor> made = connect_at(address, share);
    if (made.ok()) return made;
    if (made.status().code() == Code::unreachable) code = Code::unreachable;
    const bool obvious = address.text() == host_and_port(host, port);
    reasons += fmt::format(
        "{}{}{}{}", reasons.empty() ? "" : ", ", made.status().text(), obvious ? "" : " by " + address.text(),
        !obvious && address.is_loopback() ? ", which is this host itself: WIA_MASTER_ADDR has to "
                                            "lead to rank 0 from every host"
                                          : "");
  }
  return Status(code, reasons);
}

Status send_all(int socket, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for(socket, POLLOUT, deadline)) return Status(Code::timeout, "no answer");
    } else if (errno != EINTR) {
      return Status(Code::unreachable, why_not_connected(errno));
    }
  }
  return {};
}

Status receive_all(int socket, char* bytes, size_t count, Deadline deadline) {
  while (count > 0) {
    const ssize_t received = recv(socket, bytes, count, 0);
    if (received > 0) {
      bytes += received;
      count -= static_cast<size_t>(received);
    } else if (received == 0) {
      return Status(Code::unreachable, "connection closed by the other side");
    } else if (errno == EAGAIN) {
      if (!wait_for(socket, POLLIN, deadline)) return Status(Code::timeout, "no answer");
    } else if (errno != EINTR) {
      return Status(Code::unreachable, why_not_connected(errno));
    }
  }
  return {};
}

}  // namespace wia
