// What lies in shared memory for one rank of one communicator: its *block*, in its own heap.
//
//   RankState | collective Ring[P] | packet Ring[P] | departures[P] | staging | packet staging
//
// Ring s is written by rank s and read by the owner of the block. Only the owner frees the block, and
// only after every rank has departed (written its departure into it) or ended: until then late reads and
// writes are harmless. docs/formats/shared-memory.md shows one exchange byte by byte.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "transport/endpoint.hpp"

namespace wia::shm {

constexpr uint32_t kRingEntries = 16;  // a power of two, at most 32
constexpr size_t kInlineBytes = 40;
constexpr size_t kFailureText = 1536;
constexpr uint32_t kCallSlots = 4;

enum class EntryKind : uint8_t { in_line, staged, direct, landed, packet };

// One cache line. `sequence` is position + 1, stored last: the entry is valid when the reader finds the
// number that it expects, so the reader polls the line that brings the data.
struct alignas(64) Entry {
  std::atomic<uint32_t> sequence;
  uint16_t type;  // packets
  EntryKind kind;
  uint8_t inline_bytes;
  uint32_t operation;
  uint32_t slice;
  uint32_t signature;
  uint32_t tag;
  union {
    std::byte inline_data[kInlineBytes];
    struct {
      uint64_t offset;  // staged, direct: in the sender's heap; landed: in the receiver's
      uint64_t bytes;
      int64_t landing;  // where the sender's output lies in its heap; negative: not there
    } place;
  };
};
static_assert(sizeof(Entry) == 64);

struct Ring {
  alignas(64) std::atomic<uint32_t> released;  // entries given back, in order; written by the reader
  Entry entries[kRingEntries];
};

// The calls a rank made last: slot sequence % kCallSlots.
struct alignas(64) CallSlot {
  std::atomic<uint64_t> sequence;  // stored last
  CallSignature call;
};

struct RankState {
  alignas(64) std::atomic<uint64_t> completed;  // sequence of the last collective that this rank finished
  CallSlot calls[kCallSlots];
  alignas(64) std::atomic<uint32_t> failed;  // stored last
  int32_t failure_code;
  char failure_text[kFailureText];

  // Says why this rank is lost to the others. The first reason stands.
  void fail(Code code, const std::string& text) {
    if (failed.load(std::memory_order_relaxed)) return;
    failure_code = static_cast<int32_t>(code);
    const size_t length = std::min(text.size(), kFailureText - 1);
    std::memcpy(failure_text, text.data(), length);
    failure_text[length] = 0;
    failed.store(1, std::memory_order_release);
  }
};

// One a rank: 0 while it is here, else the number of collectives it had completed plus 1.
using Departure = std::atomic<uint64_t>;

// Offsets of the parts of a block.
struct BlockLayout {
  size_t rings, packet_rings, departures, staging, packet_staging, bytes;
  size_t staging_bytes, packet_staging_bytes;

  BlockLayout(size_t ranks, size_t staging_size, size_t packet_staging_size)
      : staging_bytes(staging_size), packet_staging_bytes(packet_staging_size) {
    const auto aligned = [](size_t n) { return (n + 4095) / 4096 * 4096; };
    rings = sizeof(RankState);
    packet_rings = rings + ranks * sizeof(Ring);
    departures = packet_rings + ranks * sizeof(Ring);
    staging = aligned(departures + ranks * sizeof(Departure));
    packet_staging = staging + aligned(staging_bytes);
    bytes = packet_staging + aligned(packet_staging_bytes);
  }
};

}  // namespace wia::shm
