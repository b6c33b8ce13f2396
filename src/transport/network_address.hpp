// Where a process can be reached over the network, and by which ways two processes may reach each other.
// Values, no system calls.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/address.hpp"
#include "base/status.hpp"

namespace wia {

// One address of a network interface.
struct NetworkPlace {
  std::string nic;
  Address address;  // its port plays no part
  int prefix_length = 0;
};

struct NetworkAddress {
  std::string host;  // for people
  int pid = 0;
  int port = 0;  // where the process listens, on all its addresses
  std::vector<NetworkPlace> places;
  std::vector<std::string> near =
      {};  // interfaces nearer to the process than the others; empty: no difference

  std::string text() const;
  std::string places_text() const;  // "eth0=10.0.0.1/24 eth1=10.0.1.1/24"
  static Result<NetworkAddress> parse(const std::string& text);
};

// A way: from an interface of this process to an address of the other.
struct Path {
  std::string nic, peer_nic;
  Address from, to;  // `to` with the peer's port
  bool operator==(const Path&) const;
  std::string text() const;  // "eth0 10.0.0.1 -> 10.0.0.2:4711"
};

struct Paths {
  std::vector<Path> rails;   // one for each pair of interfaces that seem to be on one network; never empty
                             // unless the two have no family of addresses in common
  std::vector<Path> others;  // all other ways there may be, for when a rail does not work
};

// Interfaces on one network (by their prefixes) belong together, in the order of `own`; where there are none,
// the first of one with the first of the other, and so on: a router may connect them. An address that both
// have is on no common network.
Paths plan_paths(const NetworkAddress& own, const NetworkAddress& peer);
// What plan_paths(peer, own) gave, as seen from the other end: the rails in the same order.
Paths reversed(Paths paths, int peer_port);

// Rails by interfaces that are near to `own`, of which `paths` lead away; all if there are none.
std::vector<int> near_rails(const NetworkAddress& own, const Paths& paths);

// The rails that a pair of ranks uses, as indices: `local` of `on_node` ranks share `rails` interfaces. One
// each, near to each other for neighbours; several where there are more interfaces than ranks.
std::vector<int> rails_of(int rails, int local, int on_node);

}  // namespace wia
