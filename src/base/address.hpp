// A socket's address, IPv4 or IPv6. A value.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>

namespace wia {

struct Address {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  std::string text() const;  // "127.0.0.1:80", "[::1]:80"; IPv4 also where it came by a socket of IPv6
  int port() const;
  bool is_loopback() const;
};

// Of an IPv4 or IPv6 literal, without port.
std::optional<Address> parse_address(const std::string& host);

// "::1" of "[::1]".
std::string without_brackets(const std::string& host);
// "host:port"; brackets around an IPv6 address; "localhost" for an empty host.
std::string host_and_port(const std::string& host, int port);

}  // namespace wia
