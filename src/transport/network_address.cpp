#include "transport/network_address.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <sstream>

namespace wia {
namespace {

std::span<const uint8_t> host_bytes(const Address& address) {
  if (address.family() == AF_INET6) {
    const auto& in6 = *reinterpret_cast<const sockaddr_in6*>(&address.storage);
    return {in6.sin6_addr.s6_addr, 16};
  }
  const auto& in4 = *reinterpret_cast<const sockaddr_in*>(&address.storage);
  return {reinterpret_cast<const uint8_t*>(&in4.sin_addr), 4};
}

bool same_host(const Address& a, const Address& b) {
  return a.family() == b.family() && std::ranges::equal(host_bytes(a), host_bytes(b));
}

bool in_one_network(const NetworkPlace& a, const NetworkPlace& b) {
  if (a.address.family() != b.address.family()) return false;
  const auto one = host_bytes(a.address), other = host_bytes(b.address);
  const int bits = std::min(a.prefix_length, b.prefix_length);
  for (int bit = 0; bit < bits; ++bit)
    if ((one[static_cast<size_t>(bit / 8)] ^ other[static_cast<size_t>(bit / 8)]) >> (7 - bit % 8) & 1)
      return false;
  return true;
}

Address with_port(Address address, int port) {
  const auto number = htons(static_cast<uint16_t>(port));
  if (address.family() == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = number;
  else
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = number;
  return address;
}

std::string host_text(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  inet_ntop(address.family(), host_bytes(address).data(), text, sizeof text);
  return text;
}

bool read_number(std::string_view text, int* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number >= 0;
}

// "eth0=10.0.0.1/24"
bool read_place(const std::string& text, NetworkPlace* place) {
  const size_t equals = text.find('='), slash = text.rfind('/');
  if (equals == std::string::npos || slash == std::string::npos || slash < equals) return false;
  place->nic = text.substr(0, equals);
  const std::string host = text.substr(equals + 1, slash - equals - 1);
  auto parsed = parse_address(host);
  if (!parsed || !read_number(std::string_view(text).substr(slash + 1), &place->prefix_length)) return false;
  place->address = *parsed;
  return place->prefix_length <= (parsed->family() == AF_INET6 ? 128 : 32);
}

}  // namespace

std::string NetworkAddress::text() const {
  return fmt::format("{} {} {} {} {}", host.empty() ? "?" : host, pid, port,
                     near.empty() ? "-" : fmt::format("{}", fmt::join(near, ",")), places_text());
}

std::string NetworkAddress::places_text() const {
  std::string text;
  for (const NetworkPlace& place : places)
    text += fmt::format("{}{}={}/{}", text.empty() ? "" : " ", place.nic, host_text(place.address),
                        place.prefix_length);
  return text;
}

Result<NetworkAddress> NetworkAddress::parse(const std::string& text) {
  std::istringstream words(text);
  NetworkAddress address;
  std::string pid, port, near, word;
  words >> address.host >> pid >> port >> near;
  if (near != "-")
    for (std::istringstream names(near); std::getline(names, word, ',');) address.near.push_back(word);
  bool good = read_number(pid, &address.pid) && read_number(port, &address.port) && address.port <= 65535;
  while (good && words >> word) good = read_place(word, &address.places.emplace_back());
  if (!good) return Status::error(Code::protocol, "\"{}\" is not the address of a process", text);
  return address;
}

bool Path::operator==(const Path& other) const {
  return nic == other.nic && same_host(from, other.from) && same_host(to, other.to) &&
         to.port() == other.to.port();
}

std::string Path::text() const { return fmt::format("{} {} -> {}", nic, host_text(from), to.text()); }

Paths plan_paths(const NetworkAddress& own, const NetworkAddress& peer) {
  Paths paths;
  std::vector<const NetworkPlace*> own_left, peer_left;
  for (const NetworkPlace& place : own.places) own_left.push_back(&place);
  for (const NetworkPlace& place : peer.places) peer_left.push_back(&place);
  const auto path = [&](const NetworkPlace& from, const NetworkPlace& to) {
    return Path{from.nic, to.nic, from.address, with_port(to.address, peer.port)};
  };
  // An address that both have leads to the peer only if the two are on one host: then they have all in
  // common.
  const bool may_be_one_host = own.places_text() == peer.places_text();
  const auto possible = [&](const NetworkPlace& a, const NetworkPlace& b) {
    return a.address.family() == b.address.family() && a.address.is_loopback() == b.address.is_loopback() &&
           (same_host(a.address, b.address) ? may_be_one_host || a.address.is_loopback()
                                            : !a.address.is_loopback());
  };
  const auto marry = [&](auto fits) {
    for (size_t i = 0; i < own_left.size();) {
      const NetworkPlace& from = *own_left[i];
      const auto to = std::find_if(peer_left.begin(), peer_left.end(), [&](const NetworkPlace* place) {
        return possible(from, *place) && fits(from, *place);
      });
      if (to == peer_left.end()) {
        ++i;
        continue;
      }
      paths.rails.push_back(path(from, **to));
      const std::string nic = from.nic,
                        peer_nic = (*to)->nic;  // an interface's second address is no second rail
      std::erase_if(own_left, [&](const NetworkPlace* place) { return place->nic == nic; });
      std::erase_if(peer_left, [&](const NetworkPlace* place) { return place->nic == peer_nic; });
    }
  };
  marry(in_one_network);
  if (paths.rails.empty()) marry([](const NetworkPlace&, const NetworkPlace&) { return true; });
  for (const NetworkPlace& from : own.places)
    for (const NetworkPlace& to : peer.places) {
      if (!possible(from, to)) continue;
      Path other = path(from, to);
      if (std::find(paths.rails.begin(), paths.rails.end(), other) == paths.rails.end())
        paths.others.push_back(std::move(other));
    }
  return paths;
}

Paths reversed(Paths paths, int peer_port) {
  for (auto* list : {&paths.rails, &paths.others})
    for (Path& path : *list) {
      std::swap(path.nic, path.peer_nic);
      std::swap(path.from, path.to);
      path.from = with_port(path.from, 0);
      path.to = with_port(path.to, peer_port);
    }
  return paths;
}

std::vector<int> near_rails(const NetworkAddress& own, const Paths& paths) {
  std::vector<int> rails, all;
  for (size_t i = 0; i < paths.rails.size(); ++i) {
    all.push_back(static_cast<int>(i));
    if (std::ranges::count(own.near, paths.rails[i].nic) > 0) rails.push_back(static_cast<int>(i));
  }
  return rails.empty() ? all : rails;
}

std::vector<int> rails_of(int rails, int local, int on_node) {
  if (rails <= 0) return {};
  if (on_node >= rails) return {local * rails / on_node};
  std::vector<int> mine;
  for (int rail = local; rail < rails; rail += on_node) mine.push_back(rail);
  return mine;
}

}  // namespace wia
