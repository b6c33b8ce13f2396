#include "transport/shm_endpoint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace wia {

using shm::Entry;
using shm::EntryKind;
using shm::kInlineBytes;
using shm::kRingEntries;

// --- Blocks -----------------------------------------------------------------------------------

ShmGraveyard& ShmGraveyard::instance() {
  static auto* graveyard = new ShmGraveyard;  // outlives exit handlers
  return *graveyard;
}

void ShmGraveyard::bury(std::byte* block, const shm::Departure* departures,
                        std::vector<std::shared_ptr<PeerHeap>> heaps) {
  {
    std::lock_guard lock(mutex_);
    graves_.push_back({block, departures, std::move(heaps)});
  }
  sweep();
}

void ShmGraveyard::sweep() {
  std::lock_guard lock(mutex_);
  std::erase_if(graves_, [](const Grave& grave) {
    for (size_t r = 0; r < grave.heaps.size(); ++r) {
      // Whoever is here may still read or write the block. A process that has ended will not.
      if (grave.departures[r].load(std::memory_order_acquire) == 0 && grave.heaps[r]->alive()) return false;
    }
    ShmHeap::existing()->free(grave.block);
    return true;
  });
}

Result<ShmBlock> ShmBlock::make(int ranks, const ShmOptions& options) {
  auto heap = ShmHeap::instance();
  if (!heap) return heap.take_status();
  ShmGraveyard::instance().sweep();
  const shm::BlockLayout layout(static_cast<size_t>(ranks), options.staging_bytes,
                                options.packet_staging_bytes);
  auto block = heap.value()->allocate(layout.bytes);
  if (!block) return block.take_status();
  std::memset(*block, 0, layout.staging);  // the memory may have been in use before
  return ShmBlock(*block, layout);
}

ShmBlock::~ShmBlock() {
  if (block_) ShmHeap::existing()->free(block_);
}

void ShmBlock::abandon(const Status& reason, std::vector<std::shared_ptr<PeerHeap>> heaps) {
  reinterpret_cast<shm::RankState*>(block_)->fail(reason.code(), reason.text());
  const auto* departures = reinterpret_cast<shm::Departure*>(block_ + layout_.departures);
  ShmGraveyard::instance().bury(std::exchange(block_, nullptr), departures, std::move(heaps));
}

uint64_t ShmBlock::offset() const { return static_cast<uint64_t>(block_ - ShmHeap::existing()->base()); }

namespace {

// A peer may hand out a block again once this process's endpoint there has departed: to another one of this
// process, maybe. What orders the writes of the two goes through the peer; this says it inside the process.
std::atomic<uint64_t> ended_{0};

}  // namespace

ShmEndpoint::ShmEndpoint(int rank, ShmBlock block, std::vector<std::shared_ptr<PeerHeap>> heaps,
                         const std::vector<uint64_t>& offsets)
    : Endpoint(rank, static_cast<int>(heaps.size())),
      own_(*ShmHeap::existing()),
      block_(std::exchange(block.block_, nullptr)),
      layout_(block.layout_),
      state_(*reinterpret_cast<shm::RankState*>(block_)),
      departures_(reinterpret_cast<shm::Departure*>(block_ + layout_.departures)),
      heaps_(std::move(heaps)),
      peers_(heaps_.size()) {
  static_cast<void>(ended_.load(std::memory_order_acquire));
  const auto ring = [&](std::byte* base, size_t rings, int index) {
    return reinterpret_cast<shm::Ring*>(base + rings) + index;
  };
  for (int p = 0; p < size(); ++p) {
    Peer& peer = peers_[p];
    peer.heap = heaps_[p]->base();
    peer.block = peer.heap + offsets[p];
    peer.state = reinterpret_cast<shm::RankState*>(peer.block);
    peer.bell = &heaps_[p]->header().doorbell;
    peer.out.ring = ring(peer.block, layout_.rings, rank);
    peer.packets_out.ring = ring(peer.block, layout_.packet_rings, rank);
    peer.in.ring = ring(block_, layout_.rings, p);
    peer.packets_in.ring = ring(block_, layout_.packet_rings, p);
  }
  const auto set_up = [&](Staging& staging, size_t offset, size_t bytes) {
    staging.base = block_ + offset;
    staging.bytes = bytes;
    staging.pending.resize(kRingEntries * heaps_.size());
  };
  set_up(staging_, layout_.staging, layout_.staging_bytes);
  set_up(packet_staging_, layout_.packet_staging, layout_.packet_staging_bytes);
}

ShmEndpoint::~ShmEndpoint() {
  ended_.fetch_add(1, std::memory_order_release);
  const uint64_t departure = state_.completed.load(std::memory_order_relaxed) + 1;
  for (const Peer& peer : peers_) {
    reinterpret_cast<shm::Departure*>(peer.block + layout_.departures)[rank()].store(
        departure, std::memory_order_release);
    peer.bell->ring();
  }
  ShmGraveyard::instance().bury(block_, departures_, std::move(heaps_));
}

// --- Calls ------------------------------------------------------------------------------------

void ShmEndpoint::enter(const CallSignature& call, std::span<const int>, std::byte* output,
                        size_t output_bytes) {
  call_ = call;
  shm::CallSlot& slot = state_.calls[call.sequence % shm::kCallSlots];
  slot.call = call;
  slot.sequence.store(call.sequence, std::memory_order_release);
  output_location_ = own_.contains(output, output_bytes) ? output - own_.base() : -1;
}

void ShmEndpoint::leave() { state_.completed.store(call_.sequence, std::memory_order_release); }

Endpoint::Entered ShmEndpoint::entered(int peer) {
  const shm::CallSlot& slot = peers_[peer].state->calls[call_.sequence % shm::kCallSlots];
  const uint64_t sequence = slot.sequence.load(std::memory_order_acquire);
  if (sequence < call_.sequence) return Entered::no;
  if (sequence > call_.sequence) return Entered::same;  // it has gone on: it had no complaint
  return slot.call.hash == call_.hash ? Entered::same : Entered::other;
}

CallSignature ShmEndpoint::last_call(int peer) const {
  CallSignature last;
  for (const shm::CallSlot& slot : peers_[peer].state->calls)
    if (slot.sequence.load(std::memory_order_acquire) > last.sequence) last = slot.call;
  return last;
}

// --- Staging ----------------------------------------------------------------------------------

bool ShmEndpoint::Outgoing::full() const {
  if (next - released < kRingEntries) return false;
  released = ring->released.load(std::memory_order_acquire);
  return next - released >= kRingEntries;
}

bool ShmEndpoint::Outgoing::has_released(uint32_t position) const {
  if (static_cast<int32_t>(released - position) > 0) return true;
  released = ring->released.load(std::memory_order_acquire);
  return static_cast<int32_t>(released - position) > 0;
}

void ShmEndpoint::reclaim(Staging& staging, bool packets) {
  while (staging.count > 0) {
    const Staging::Pending& oldest = staging.pending[staging.first];
    const Peer& peer = peers_[oldest.peer];
    if (!(packets ? peer.packets_out : peer.out).has_released(oldest.position)) return;
    if (oldest.last) staging.tail = oldest.end;
    staging.first = (staging.first + 1) % staging.pending.size();
    --staging.count;
  }
  staging.tail = staging.head;
}

size_t ShmEndpoint::Staging::place_for(size_t wanted) const {
  if (count == 0) return head + wanted <= bytes ? head : wanted <= bytes ? 0 : SIZE_MAX;
  if (head > tail) {  // in use: [tail, head)
    if (head + wanted <= bytes) return head;
    return wanted < tail ? 0 : SIZE_MAX;
  }
  return head + wanted < tail ? head : SIZE_MAX;  // in use: [tail, end) and [0, head)
}

std::byte* ShmEndpoint::take(Staging& staging, size_t bytes, bool packets) {
  const size_t rounded = (bytes + 63) / 64 * 64;
  size_t place = staging.place_for(rounded);
  if (place == SIZE_MAX) {
    reclaim(staging, packets);
    place = staging.place_for(rounded);
    if (place == SIZE_MAX) return nullptr;
  }
  staging.head = place + rounded;
  return staging.base + place;
}

void ShmEndpoint::remember(Staging& staging, int peer, uint32_t position, bool last) {
  staging.pending[(staging.first + staging.count) % staging.pending.size()] = {staging.head, position, peer,
                                                                               last};
  ++staging.count;
}

// --- Sending ----------------------------------------------------------------------------------

bool ShmEndpoint::can_post(int peer) { return !peers_[peer].out.full(); }

std::byte* ShmEndpoint::stage(std::span<const int> peers, size_t bytes) {
  for (const int p : peers)
    if (peers_[p].out.full()) return nullptr;
  if (bytes <= kInlineBytes) return inline_buffer_;
  // Every pending entry belongs to an entry of some ring, so they never run out.
  if (staging_.count + peers.size() > staging_.pending.size()) reclaim(staging_, false);
  if (staging_.count + peers.size() > staging_.pending.size()) return nullptr;
  return staged_ = take(staging_, bytes, false);
}

Entry& ShmEndpoint::open(Outgoing& out, Key key, EntryKind kind) {
  Entry& entry = out.ring->entries[out.next % kRingEntries];
  entry.kind = kind;
  entry.operation = key.operation;
  entry.slice = key.slice;
  entry.signature = call_.hash;
  entry.tag = key.tag;
  return entry;
}

void ShmEndpoint::publish(Peer& peer, Outgoing& out, Entry& entry) {
  entry.sequence.store(++out.next, std::memory_order_release);
  peer.bell->ring();
}

void ShmEndpoint::post(std::span<const int> peers, Key key, size_t bytes) {
  const bool in_line = bytes <= kInlineBytes;
  for (size_t i = 0; i < peers.size(); ++i) {
    Peer& peer = peers_[peers[i]];
    Entry& entry = open(peer.out, key, in_line ? EntryKind::in_line : EntryKind::staged);
    if (in_line) {
      entry.inline_bytes = static_cast<uint8_t>(bytes);
      std::memcpy(entry.inline_data, inline_buffer_, kInlineBytes);
    } else {
      entry.place = {static_cast<uint64_t>(staged_ - own_.base()), bytes, output_location_};
      remember(staging_, peers[i], peer.out.next, i + 1 == peers.size());
    }
    publish(peer, peer.out, entry);
  }
}

bool ShmEndpoint::post_direct(std::span<const int> peers, Key key, const std::byte* data, size_t bytes) {
  for (const int p : peers)
    if (peers_[p].out.full()) return false;
  for (const int p : peers) {
    Peer& peer = peers_[p];
    Entry& entry = open(peer.out, key, EntryKind::direct);
    entry.place = {static_cast<uint64_t>(data - own_.base()), bytes, output_location_};
    peer.last_direct = peer.out.next;
    peer.direct_pending = true;
    publish(peer, peer.out, entry);
  }
  return true;
}

std::byte* ShmEndpoint::landing(int p) const {
  const Peer& peer = peers_[p];
  if (peer.landing < 0 || peer.landing_operation != static_cast<uint32_t>(call_.sequence)) return nullptr;
  return peer.heap + peer.landing;
}

bool ShmEndpoint::post_landed(int p, Key key, const std::byte* data, size_t bytes) {
  Peer& peer = peers_[p];
  if (peer.out.full()) return false;
  Entry& entry = open(peer.out, key, EntryKind::landed);
  entry.place = {static_cast<uint64_t>(data - peer.heap), bytes, output_location_};
  publish(peer, peer.out, entry);
  return true;
}

bool ShmEndpoint::drained() {
  for (Peer& peer : peers_) {
    if (!peer.direct_pending) continue;
    // A peer that has finished the call has read everything.
    if (!peer.out.has_released(peer.last_direct)) return false;
    peer.direct_pending = false;
  }
  return true;
}

// --- Receiving --------------------------------------------------------------------------------

bool ShmEndpoint::find(int p, Key key, Message* message, std::span<std::byte>) {
  Peer& peer = peers_[p];
  Incoming& in = peer.in;
  for (uint32_t i = 0; i < kRingEntries; ++i) {
    const uint32_t position = in.base + i;
    if (in.consumed >> i & 1) continue;
    Entry& entry = in.ring->entries[position % kRingEntries];
    if (entry.sequence.load(std::memory_order_acquire) != position + 1) break;
    if (entry.operation != key.operation) break;  // a later call; its signature is none of ours
    if (entry.slice != key.slice || entry.tag != key.tag) {
      if (entry.signature == call_.hash) continue;
      // Another call under the same number: let the engine see it.
      *message = {inline_buffer_, 0, entry.signature, position};
    } else if (entry.kind == EntryKind::in_line) {
      *message = {entry.inline_data, entry.inline_bytes, entry.signature, position};
    } else {
      const std::byte* base = entry.kind == EntryKind::landed ? own_.base() : peer.heap;
      *message = {base + entry.place.offset, entry.place.bytes, entry.signature, position};
      peer.landing = entry.place.landing;
      peer.landing_operation = key.operation;
    }
    return true;
  }
  return false;
}

void ShmEndpoint::Incoming::release(uint32_t position) {
  consumed |= 1u << (position - base);
  const int done = std::countr_one(consumed);
  if (done == 0) return;
  consumed = done < 32 ? consumed >> done : 0;
  base += static_cast<uint32_t>(done);
  ring->released.store(base, std::memory_order_release);
}

void ShmEndpoint::release(int peer, const Message& message) {
  peers_[peer].in.release(message.handle);
  peers_[peer].bell->ring();  // it may wait for room
}

// --- Packets ----------------------------------------------------------------------------------

bool ShmEndpoint::push(int p, uint8_t type, const void* header, size_t header_bytes, const std::byte* data,
                       size_t bytes) {
  Peer& peer = peers_[p];
  Outgoing& out = peer.packets_out;
  if (out.full()) return false;
  std::byte* place = nullptr;
  if (bytes > 0) {
    if (packet_staging_.count == packet_staging_.pending.size()) reclaim(packet_staging_, true);
    if (packet_staging_.count == packet_staging_.pending.size()) return false;
    place = take(packet_staging_, bytes, true);
    if (!place) return false;
    std::memcpy(place, data, bytes);
    remember(packet_staging_, p, out.next, true);
  }
  Entry& entry = out.ring->entries[out.next % kRingEntries];
  entry.kind = EntryKind::packet;
  entry.type = type;
  entry.operation = static_cast<uint32_t>(bytes);
  entry.slice = place ? static_cast<uint32_t>(place - packet_staging_.base) : 0;
  std::memcpy(entry.inline_data, header, header_bytes);
  publish(peer, out, entry);
  return true;
}

bool ShmEndpoint::peek(int p, Packet* packet) {
  const Peer& peer = peers_[p];
  const Incoming& in = peer.packets_in;
  const Entry& entry = in.ring->entries[in.base % kRingEntries];
  if (entry.sequence.load(std::memory_order_acquire) != in.base + 1) return false;
  packet->type = static_cast<uint8_t>(entry.type);
  std::memcpy(packet->header, entry.inline_data, Packet::kHeaderBytes);
  packet->bytes = entry.operation;
  packet->data = peer.block + layout_.packet_staging + entry.slice;
  return true;
}

void ShmEndpoint::pop(int peer) {
  Incoming& in = peers_[peer].packets_in;
  in.release(in.base);
  peers_[peer].bell->ring();
}

int64_t ShmEndpoint::locate(int, const std::byte* data, size_t bytes) const {
  return own_.contains(data, bytes) ? data - own_.base() : -1;
}

// --- Trouble ----------------------------------------------------------------------------------

std::optional<Trouble> ShmEndpoint::check(bool collective, std::span<const int> partners) {
  // Reasons first: a peer that announced one may be gone by now.
  const auto announced = [&](int p) -> std::optional<Trouble> {
    const shm::RankState& state = *peers_[p].state;
    if (state.failed.load(std::memory_order_acquire) == 0) return std::nullopt;
    return Trouble{Trouble::failed, p, {}, static_cast<Code>(state.failure_code), state.failure_text};
  };
  for (int p = 0; p < size(); ++p) {
    // Also of one that has left since: its block stays until this rank has left as well.
    if (p == rank()) continue;
    if (auto reason = announced(p)) return reason;
  }
  for (int p = 0; p < size(); ++p) {
    if (p == rank()) continue;
    const uint64_t departure = departures_[p].load(std::memory_order_acquire);
    const auto finished = [&] {
      const uint64_t completed =
          departure ? departure - 1 : peers_[p].state->completed.load(std::memory_order_acquire);
      return !collective || completed >= call_.sequence;
    };
    const bool done = finished();
    if (!done && !departure && entered(p) == Entered::other)
      return Trouble{Trouble::mismatch, p, peers_[p].state->calls[call_.sequence % shm::kCallSlots].call,
                     Code::mismatch, ""};
    const bool partner = std::find(partners.begin(), partners.end(), p) != partners.end();
    if (done && !partner) continue;
    if (departure) return Trouble{Trouble::left, p, {}, Code::peer_failed, "it has left the communicator"};
    // Its last words may have been written just before the end.
    if (!heaps_[p]->alive() && (partner || !finished())) {
      if (auto reason = announced(p)) return reason;
      return Trouble{Trouble::dead, p, {}, Code::peer_failed, "its process has ended"};
    }
  }
  return std::nullopt;
}

void ShmEndpoint::announce_failure(Code code, const std::string& text) {
  state_.fail(code, text);
  for (const Peer& peer : peers_) peer.bell->ring();
}

std::string ShmEndpoint::describe_peer(int peer) const { return fmt::format("pid {}", heaps_[peer]->pid()); }

}  // namespace wia
