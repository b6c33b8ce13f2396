#include "communicator/connect.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "transport/frame_endpoint.hpp"
#include "transport/mixed_endpoint.hpp"
#include "transport/network.hpp"
#include "transport/ofi_wire.hpp"
#include "transport/shm_endpoint.hpp"
#include "transport/tcp_wire.hpp"

namespace wia {
namespace {

// `rails`: at most so many of a pair's are used.
std::unique_ptr<TcpWire> make_tcp_wire(const World& world, const std::vector<int>& members, int rank,
                                       const std::string& name, size_t rails) {
  std::vector<TcpWire::Peer> peers(members.size());
  std::vector<Paths> paths(members.size());
  for (size_t r = 0; r < members.size(); ++r) {
    const int member = members[r];
    if (world.heap(member)) continue;
    paths[r] = world.paths_to(member);
    const NetworkAddress& address = world.address(member);
    peers[r] = {fmt::format("pid {} of host {}", address.pid, address.host), world.rails_to(member)};
    if (peers[r].rails.size() > rails) peers[r].rails.resize(rails);
  }
  auto door = Network::existing()->open(world.secret_name(name), world.network_key(), rank, std::move(paths));
  return std::make_unique<TcpWire>(std::move(door), std::move(peers));
}

// The wires of a communicator, before and after its members have told each other their names.
class Wires {
 public:
  Wires(const World& world, const std::vector<int>& members, int rank, const std::string& name)
      : world_(world), members_(members), rank_(rank), name_(name) {}

  Status open() {
    const bool by_ofi = world_.config().transport == "ofi";
    tcp_ = make_tcp_wire(world_, members_, rank_, name_, by_ofi ? 1 : SIZE_MAX);
    if (!by_ofi) return {};
    auto made = make_ofi_wire(world_.ofi_options(), world_.secret_name(name_));
    if (!made) return made.take_status();
    ofi_ = std::move(made.value());
    return {};
  }
  std::string name() const { return ofi_ ? ofi_->name() : "-"; }
  std::unique_ptr<Wire> meet(const std::vector<std::string>& names) {
    if (!ofi_) return std::unique_ptr<Wire>(std::move(tcp_));
    const auto rails_to = [this](int peer, int nics) {
      const int member = members_[static_cast<size_t>(peer)];
      return world_.heap(member) ? std::vector<int>() : world_.rails_to(member, nics);
    };
    ofi_->meet(rank_, names, rails_to, std::move(tcp_));
    return std::unique_ptr<Wire>(std::move(ofi_));
  }

 private:
  const World& world_;
  const std::vector<int>& members_;
  const int rank_;
  const std::string name_;
  std::unique_ptr<TcpWire> tcp_;
  std::unique_ptr<OfiWire> ofi_;
};

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
  const bool has_remote = local_ranks.size() < members.size();
  // Before the exchange: once it is over, any peer may call.
  Wires wires(world, members, rank, name);
  if (has_remote) WIA_RETURN_IF_ERROR(wires.open());
  ShmOptions options;
  options.staging_bytes = staging_bytes;
  auto block = ShmBlock::make(static_cast<int>(local_ranks.size()), options);
  if (!block) return block.take_status();

  // In a word each: where this rank's block is, and how its endpoints are reached.
  const std::string own_words = fmt::format("{} {}", block->offset(), wires.name());
  auto words =
      world.exchange("block/" + name, members, rank, own_words, "for the communicator " + name, deadline);
  if (!words) {
    block->abandon(words.status(), std::move(heaps));
    return words.take_status();
  }
  std::vector<uint64_t> places;
  for (const int r : local_ranks) places.push_back(std::strtoull(words.value()[r].c_str(), nullptr, 10));
  const auto own = std::find(local_ranks.begin(), local_ranks.end(), rank) - local_ranks.begin();
  std::unique_ptr<Endpoint> local = std::make_unique<ShmEndpoint>(
      static_cast<int>(own), std::move(block.value()), std::move(heaps), places);
  if (!has_remote) return local;
  for (std::string& each : words.value()) each.erase(0, each.find(' ') + 1);
  auto remote = std::make_unique<FrameEndpoint>(rank, size, wires.meet(words.value()), local->max_staged());
  return std::unique_ptr<Endpoint>(
      std::make_unique<MixedEndpoint>(rank, size, std::move(local), local_ranks, std::move(remote)));
}

}  // namespace wia
