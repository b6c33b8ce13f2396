// Ranks that share this process's heap; peers of other processes differ only in how a heap was mapped.
#pragma once
#include <memory>
#include <vector>

#include "transport/shm_endpoint.hpp"
#include "transport/transport_group.hpp"

namespace wia {

inline std::vector<std::unique_ptr<Endpoint>> make_shm_endpoints(int ranks) {
  auto* heap = ShmHeap::instance().value();
  std::vector<ShmBlock> blocks;
  std::vector<uint64_t> offsets;
  for (int r = 0; r < ranks; ++r) {
    auto block = ShmBlock::make(ranks, {.staging_bytes = 64 << 10, .packet_staging_bytes = 16 << 10});
    blocks.push_back(std::move(block.value()));
    offsets.push_back(blocks.back().offset());
  }
  const std::vector heaps(static_cast<size_t>(ranks), PeerHeap::open(heap->address()).value());
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int r = 0; r < ranks; ++r)
    endpoints.push_back(
        std::make_unique<ShmEndpoint>(r, std::move(blocks[static_cast<size_t>(r)]), heaps, offsets));
  return endpoints;
}

// A group whose memory is of the heap.
class ShmMemory : public TransportGroup {
 public:
  ~ShmMemory() override {
    for (std::byte* each : memory_) ShmHeap::existing()->free(each);
  }
  std::byte* memory(size_t bytes) override {
    return memory_.emplace_back(ShmHeap::existing()->allocate(bytes).value());
  }

 private:
  std::vector<std::byte*> memory_;
};

class ShmTransportGroup final : public ShmMemory {
 public:
  explicit ShmTransportGroup(int ranks) : endpoints_(make_shm_endpoints(ranks)) {}
  Endpoint& at(int rank) override { return *endpoints_[static_cast<size_t>(rank)]; }

 private:
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

}  // namespace wia
