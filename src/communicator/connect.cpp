#include "communicator/connect.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "transport/frame_endpoint.hpp"
#include "transport/mixed_endpoint.hpp"
#include "transport/network.hpp"
#include "transport/shm_endpoint.hpp"
#include "transport/tcp_wire.hpp"

namespace wia {
namespace {

std::unique_ptr<Wire> make_tcp_wire(const World& world, const std::vector<int>& members, int rank,
                                    const std::string& name) {
  std::vector<TcpWire::Peer> peers(members.size());
  std::vector<Paths> paths(members.size());
  for (size_t r = 0; r < members.size(); ++r) {
    const int member = members[r];
    if (world.heap(member)) continue;
    paths[r] = world.paths_to(member);
    const NetworkAddress& address = world.address(member);
    peers[r] = {fmt::format("pid {} of host {}", address.pid, address.host),
                world.rails_to(member, paths[r])};
  }
  auto door = Network::existing()->open(world.secret_name(name), world.network_key(), rank, std::move(paths));
  return std::make_unique<TcpWire>(std::move(door), std::move(peers));
}

}  // namespace

Result<std::unique_ptr<Endpoint>> connect(World& world, const std::vector<int>& members, int rank,
                                          const std::string& name, size_t staging_bytes, Deadline deadline) {
  const int size = static_cast<int>(members.size());
  std::vector<int> local_ranks;
  std::vector<std::shared_ptr<PeerHeap>> heaps;
  for (int r = 0; r < size; ++r) {
    if (!world.heap(members[r])) continue;
    local_ranks.push_back(r);
    heaps.push_back(world.heap(members[r]));
  }
  ShmOptions options;
  options.staging_bytes = staging_bytes;
  auto block = ShmBlock::make(static_cast<int>(local_ranks.size()), options);
  if (!block) return block.take_status();
  const bool has_remote = local_ranks.size() < members.size();
  // Before the exchange: once it is over, any peer may call.
  std::unique_ptr<Wire> wire;
  if (has_remote) wire = make_tcp_wire(world, members, rank, name);

  auto offsets = world.exchange("block/" + name, members, rank, std::to_string(block->offset()),
                                "for the communicator " + name, deadline);
  if (!offsets) {
    block->abandon(offsets.status(), std::move(heaps));
    return offsets.take_status();
  }
  std::vector<uint64_t> places;
  for (const int r : local_ranks) places.push_back(std::strtoull(offsets.value()[r].c_str(), nullptr, 10));
  const auto own = std::find(local_ranks.begin(), local_ranks.end(), rank) - local_ranks.begin();
  std::unique_ptr<Endpoint> local = std::make_unique<ShmEndpoint>(
      static_cast<int>(own), std::move(block.value()), std::move(heaps), places);
  if (!has_remote) return local;
  auto remote = std::make_unique<FrameEndpoint>(rank, size, std::move(wire), local->max_staged());
  return std::unique_ptr<Endpoint>(
      std::make_unique<MixedEndpoint>(rank, size, std::move(local), local_ranks, std::move(remote)));
}

}  // namespace wia
