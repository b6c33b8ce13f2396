#include "base/address.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>

namespace wia {

int Address::port() const {
  return ntohs(family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                                    : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

std::string Address::text() const {
  char host[NI_MAXHOST] = "?";
  getnameinfo(raw(), length, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  const std::string text = host, mapped = "::ffff:";  // IPv4 on a socket that takes both
  return host_and_port(text.starts_with(mapped) ? text.substr(mapped.size()) : text, port());
}

bool Address::is_loopback() const {
  if (family() == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr);
  return ntohl(reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr.s_addr) >> 24 == 127;
}

std::optional<Address> parse_address(const std::string& host) {
  Address address;
  auto& in4 = *reinterpret_cast<sockaddr_in*>(&address.storage);
  auto& in6 = *reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, host.c_str(), &in4.sin_addr) == 1) {
    address.storage.ss_family = AF_INET;
    address.length = sizeof in4;
  } else if (inet_pton(AF_INET6, host.c_str(), &in6.sin6_addr) == 1) {
    address.storage.ss_family = AF_INET6;
    address.length = sizeof in6;
  } else {
    return std::nullopt;
  }
  return address;
}

std::string without_brackets(const std::string& host) {
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') return host.substr(1, host.size() - 2);
  return host;
}

std::string host_and_port(const std::string& host, int port) {
  if (host.empty()) return fmt::format("localhost:{}", port);
  const std::string bare = without_brackets(host);
  return bare.find(':') == std::string::npos ? fmt::format("{}:{}", bare, port)
                                             : fmt::format("[{}]:{}", bare, port);
}

}  // namespace wia
