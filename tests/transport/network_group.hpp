// The ranks of one communicator on several nodes, all in this process: shared memory within a node, frames
// over a wire between them, put together as a communicator does it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/frame_endpoint.hpp"
#include "transport/mixed_endpoint.hpp"
#include "transport/ofi_wire.hpp"
#include "transport/shm_group.hpp"
#include "transport/tcp_wire.hpp"

namespace wia {

// Every second rank is on the same node, so that neighbours are not; `nodes`: how many nodes there are.
class NetworkTransportGroup final : public ShmMemory {
 public:
  using MakeWires = std::function<std::vector<std::unique_ptr<Wire>>(int ranks)>;
  NetworkTransportGroup(int ranks, int nodes, const MakeWires& make_wires) {
    auto wires = make_wires(ranks);
    endpoints_.resize(static_cast<size_t>(ranks));
    for (int node = 0; node < std::min(nodes, ranks); ++node) {
      std::vector<int> members;
      for (int r = node; r < ranks; r += nodes) members.push_back(r);
      auto local = make_shm_endpoints(static_cast<int>(members.size()));
      for (size_t i = 0; i < members.size(); ++i) {
        const auto rank = static_cast<size_t>(members[i]);
        const size_t longest = local[i]->max_staged();
        endpoints_[rank] = std::make_unique<MixedEndpoint>(
            members[i], ranks, std::move(local[i]), members,
            std::make_unique<FrameEndpoint>(members[i], ranks, std::move(wires[rank]), longest));
      }
    }
  }
  Endpoint& at(int rank) override { return *endpoints_[static_cast<size_t>(rank)]; }
  // The rank destroys its communicator.
  void leave(int rank) { endpoints_[static_cast<size_t>(rank)].reset(); }

 private:
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

inline constexpr HashKey kTestKey{0x0123456789abcdef, 0xfedcba9876543210};

// A name that no other communicator of this process has.
inline uint64_t next_communicator() {
  static uint64_t last = 0;
  return ++last;
}

inline std::unique_ptr<TcpWire> make_loopback_wire(uint64_t communicator, int rank, int ranks) {
  Network& network = *Network::instance().value();
  const NetworkAddress here{"here", 1, network.port(), {{"lo", parse_address("127.0.0.1").value(), 8}}};
  const std::vector<Paths> paths(static_cast<size_t>(ranks), plan_paths(here, here));
  std::vector<TcpWire::Peer> peers(static_cast<size_t>(ranks), {"here", {0}});
  return std::make_unique<TcpWire>(network.open(communicator, kTestKey, rank, paths), std::move(peers));
}

inline std::vector<std::unique_ptr<Wire>> make_tcp_wires(int ranks) {
  const uint64_t communicator = next_communicator();
  std::vector<std::unique_ptr<Wire>> wires;
  for (int r = 0; r < ranks; ++r) wires.push_back(make_loopback_wire(communicator, r, ranks));
  return wires;
}

inline std::vector<std::unique_ptr<Wire>> make_ofi_wires_by(const OfiOptions& options, int ranks) {
  const uint64_t communicator = next_communicator();
  std::vector<std::unique_ptr<OfiWire>> made;
  std::vector<std::string> names;
  for (int r = 0; r < ranks; ++r) {
    made.push_back(std::move(make_ofi_wire(options, communicator).value()));
    names.push_back(made.back()->name());
  }
  std::vector<std::unique_ptr<Wire>> wires;
  for (int r = 0; r < ranks; ++r) {
    made[static_cast<size_t>(r)]->meet(
        r, names, [](int, int nics) { return rails_of(nics, 0, 1); },
        make_loopback_wire(communicator, r, ranks));
    wires.push_back(std::move(made[static_cast<size_t>(r)]));
  }
  return wires;
}

inline OfiOptions ofi_over_loopback() { return {.addresses = {parse_address("127.0.0.1").value()}}; }

inline std::vector<std::unique_ptr<Wire>> make_ofi_wires(int ranks) {
  return make_ofi_wires_by(ofi_over_loopback(), ranks);
}

}  // namespace wia
