// The transports that transport_test.cpp is run on: all ranks in this process, one thread. A new transport
// joins kTransports.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/loop.hpp"
#include "transport/shm_endpoint.hpp"

namespace wia {

// The ranks of one communicator.
class TransportGroup {
 public:
  virtual ~TransportGroup() = default;
  virtual Endpoint& at(int rank) = 0;
  // Memory that can be sent without a copy, if the transport has such; lives as long as the group.
  virtual std::byte* memory(size_t bytes) = 0;
};

class LoopTransportGroup final : public TransportGroup {
 public:
  explicit LoopTransportGroup(int ranks) : group_(ranks, {.direct = true, .landing = true}) {}
  Endpoint& at(int rank) override { return group_.endpoint(rank); }
  std::byte* memory(size_t bytes) override {
    return memory_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }

 private:
  LoopGroup group_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

// The ranks share this process's heap; peers of other processes differ only in how a heap was mapped.
class ShmTransportGroup final : public TransportGroup {
 public:
  explicit ShmTransportGroup(int ranks) {
    auto* heap = ShmHeap::instance().value();
    std::vector<ShmBlock> blocks;
    std::vector<uint64_t> offsets;
    for (int r = 0; r < ranks; ++r) {
      auto block = ShmBlock::make(ranks, {.staging_bytes = 64 << 10, .packet_staging_bytes = 16 << 10});
      blocks.push_back(std::move(block.value()));
      offsets.push_back(blocks.back().offset());
    }
    const std::vector heaps(static_cast<size_t>(ranks), PeerHeap::open(heap->address()).value());
    for (int r = 0; r < ranks; ++r)
      endpoints_.push_back(
          std::make_unique<ShmEndpoint>(r, std::move(blocks[static_cast<size_t>(r)]), heaps, offsets));
  }
  ~ShmTransportGroup() override {
    for (std::byte* each : memory_) ShmHeap::existing()->free(each);
  }
  Endpoint& at(int rank) override { return *endpoints_[static_cast<size_t>(rank)]; }
  std::byte* memory(size_t bytes) override {
    return memory_.emplace_back(ShmHeap::existing()->allocate(bytes).value());
  }

 private:
  std::vector<std::unique_ptr<ShmEndpoint>> endpoints_;
  std::vector<std::byte*> memory_;
};

struct Transport {
  const char* name;
  std::function<std::unique_ptr<TransportGroup>(int ranks)> make;
};

inline void PrintTo(const Transport& transport, std::ostream* out) { *out << transport.name; }

inline const Transport kTransports[] = {
    {"loop", [](int ranks) { return std::make_unique<LoopTransportGroup>(ranks); }},
    {"shm", [](int ranks) { return std::make_unique<ShmTransportGroup>(ranks); }},
};

inline CallSignature call_number(uint64_t sequence, uint32_t hash = 7) {
  CallSignature call;
  call.sequence = sequence;
  call.hash = hash;
  return call;
}

// What arrived, as text.
inline std::string text_of(const Message& message) {
  return message.data ? std::string(reinterpret_cast<const char*>(message.data), message.bytes) : "nothing";
}

// False: not now.
inline bool send(Endpoint& from, const std::vector<int>& to, Key key, const std::string& text) {
  std::byte* place = from.stage(to, text.size());
  if (!place) return false;
  std::memcpy(place, text.data(), text.size());
  from.post(to, key, text.size());
  return true;
}

inline Message find(Endpoint& at, int from, Key key) {
  Message message;
  at.find(from, key, &message);
  return message;
}

// Finds and releases.
inline std::string receive(Endpoint& at, int from, Key key) {
  const Message message = find(at, from, key);
  std::string text = text_of(message);
  if (message.data) at.release(from, message);
  return text;
}

inline const std::string kLong(1000, 'x');  // too long to travel beside its key

}  // namespace wia
