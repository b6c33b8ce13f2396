#include "transport/loop.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wia {
namespace {

// Packets lie in the same lists as messages; no message has this tag.
constexpr uint32_t kPacketTag = UINT32_MAX;

Key packet_key(uint32_t number) { return {0, number, kPacketTag}; }

}  // namespace

LoopGroup::LoopGroup(int ranks, const LoopOptions& options) : options_(options) {
  endpoints_.reserve(static_cast<size_t>(ranks));
  for (int r = 0; r < ranks; ++r) endpoints_.push_back(std::make_unique<LoopEndpoint>(*this, r, ranks));
}

size_t LoopGroup::undelivered() const {
  size_t total = 0;
  for (const auto& endpoint : endpoints_) total += endpoint->undelivered();
  return total;
}

LoopEndpoint::LoopEndpoint(LoopGroup& group, int rank, int ranks)
    : Endpoint(rank, ranks), group_(group), arrivals_(ranks) {
  const auto count = static_cast<size_t>(ranks);
  on_the_way_.resize(count);
  if (group.options().in_order) rings_.resize(count);
  if (group.options().landing) heard_.resize((count + 63) / 64);
}

// --- Calls ------------------------------------------------------------------------------------

void LoopEndpoint::enter(const CallSignature& call, std::span<const int>, std::byte* output, size_t) {
  call_ = call;
  if (heard_.empty()) return;
  output_ = output;
  std::fill(heard_.begin(), heard_.end(), 0);
}

Endpoint::Entered LoopEndpoint::entered(int peer) {
  const CallSignature& other = group_.endpoints_[peer]->call_;
  if (other.sequence < call_.sequence) return Entered::no;
  if (other.sequence > call_.sequence) return Entered::same;  // it has gone on: it had no complaint
  return other.hash == call_.hash ? Entered::same : Entered::other;
}

CallSignature LoopEndpoint::last_call(int peer) const { return group_.endpoints_[peer]->call_; }

// --- Sending ----------------------------------------------------------------------------------

bool LoopEndpoint::has_room(int peer) const { return on_the_way_[peer] < group_.options_.capacity; }

bool LoopEndpoint::can_post(int peer) { return sends_allowed_ > 0 && has_room(peer); }

std::byte* LoopEndpoint::stage(std::span<const int> peers, size_t bytes) {
  for (const int peer : peers)
    if (!can_post(peer)) return nullptr;
  if (bytes <= StoredMessage::kInlineBytes) {
    if (!staged_message_) staged_message_ = group_.pool_.take();
    return staged_message_->inline_data;
  }
  if (staged_buffer_ && staged_buffer_->allocated < bytes)
    group_.pool_.give(std::exchange(staged_buffer_, nullptr));
  if (!staged_buffer_) staged_buffer_ = group_.pool_.take_buffer(bytes);
  return staged_buffer_ ? staged_buffer_->data() : nullptr;
}

StoredMessage* LoopEndpoint::new_message(int peer, Key key, StoredMessage* message) {
  if (!message) message = group_.pool_.take();
  message->key = key;
  message->signature = call_.hash;
  message->way = StoredMessage::staged;
  if (sends_allowed_ > 0) --sends_allowed_;
  ++on_the_way_[peer];
  if (!rings_.empty()) message->position = rings_[peer].sent++;
  return message;
}

void LoopEndpoint::deliver(int peer, StoredMessage* message) {
  group_.endpoints_[peer]->arrivals_.insert(rank(), message);
}

void LoopEndpoint::post(std::span<const int> peers, Key key, size_t bytes) {
  StoredMessage* const first =
      bytes <= StoredMessage::kInlineBytes ? std::exchange(staged_message_, nullptr) : nullptr;
  MessageBuffer* const buffer = first ? nullptr : std::exchange(staged_buffer_, nullptr);
  if (buffer) buffer->users = static_cast<uint32_t>(peers.size());
  for (size_t i = 0; i < peers.size(); ++i) {
    StoredMessage* message = new_message(peers[i], key, i == 0 ? first : nullptr);
    message->bytes = bytes;
    message->buffer = buffer;
    message->data = buffer ? buffer->data() : message->inline_data;
    if (first && message != first)
      std::memcpy(message->inline_data, first->inline_data, StoredMessage::kInlineBytes);
    deliver(peers[i], message);
  }
}

bool LoopEndpoint::can_send_direct(std::span<const int>, const std::byte*, size_t) const {
  return group_.options_.direct;
}

void LoopEndpoint::post_own_memory(int peer, Key key, const std::byte* data, size_t bytes,
                                   StoredMessage::Way way) {
  StoredMessage* message = new_message(peer, key, nullptr);
  message->bytes = bytes;
  message->data = data;
  message->way = way;
  deliver(peer, message);
}

bool LoopEndpoint::post_direct(std::span<const int> peers, Key key, const std::byte* data, size_t bytes) {
  for (const int peer : peers)
    if (!can_post(peer)) return false;
  for (const int peer : peers) post_own_memory(peer, key, data, bytes, StoredMessage::direct);
  unread_direct_ += peers.size();
  return true;
}

std::byte* LoopEndpoint::landing(int peer) const {
  if (heard_.empty() || !(heard_[peer / 64] >> (peer % 64) & 1)) return nullptr;
  const LoopEndpoint& other = *group_.endpoints_[peer];
  return other.call_.sequence == call_.sequence ? other.output_ : nullptr;
}

bool LoopEndpoint::post_landed(int peer, Key key, const std::byte* data, size_t bytes) {
  if (!has_room(peer)) return false;
  post_own_memory(peer, key, data, bytes, StoredMessage::landed);
  return true;
}

// --- Receiving --------------------------------------------------------------------------------

bool LoopEndpoint::find(int peer, Key key, Message* message, std::span<std::byte>) {
  if (allowed_ == 0) return false;
  const StoredMessage* arrived = arrivals_.find(peer, key);
  if (!arrived) {
    // A peer in another call under the same number: let the engine see it.
    if (entered(peer) != Entered::other) return false;
    *message = {reinterpret_cast<const std::byte*>(this), 0, last_call(peer).hash, 0};
    return true;
  }
  --allowed_;
  if (!heard_.empty()) heard_[peer / 64] |= uint64_t{1} << (peer % 64);
  *message = {arrived->data, arrived->bytes, arrived->signature, arrived->index};
  return true;
}

void LoopEndpoint::Ring::release(uint32_t position) {
  released |= uint64_t{1} << (position - base);
  const int done = std::countr_one(released);
  released = done < 64 ? released >> done : 0;
  base += static_cast<uint32_t>(done);
}

void LoopEndpoint::release(int peer, const Message& message) {
  StoredMessage* const released = group_.pool_.at(message.handle);
  LoopEndpoint& sender = *group_.endpoints_[peer];
  if (sender.rings_.empty()) {
    --sender.on_the_way_[rank()];
  } else {
    Ring& ring = sender.rings_[rank()];
    ring.release(released->position);
    sender.on_the_way_[rank()] = ring.sent - ring.base;
  }
  if (released->way == StoredMessage::direct) --sender.unread_direct_;
  arrivals_.remove(released);
  group_.pool_.give(released);
}

// --- Packets ----------------------------------------------------------------------------------

LoopEndpoint::PacketCounts& LoopEndpoint::packets_with(int peer) {
  if (packets_.empty()) packets_.resize(static_cast<size_t>(size()));
  return packets_[peer];
}

bool LoopEndpoint::push(int peer, uint8_t type, const void* header, size_t header_bytes,
                        const std::byte* data, size_t bytes) {
  PacketCounts& counts = packets_with(peer);
  const uint32_t taken = group_.endpoints_[peer]->packets_with(rank()).taken;
  if (counts.sent - taken >= group_.options_.capacity) return false;
  MessageBuffer* const buffer = bytes > 0 ? group_.pool_.take_buffer(bytes) : nullptr;
  if (bytes > 0 && !buffer) return false;
  StoredMessage* message = group_.pool_.take();
  message->key = packet_key(counts.sent++);
  message->type = type;
  std::memcpy(message->inline_data, header, header_bytes);
  message->bytes = bytes;
  message->buffer = buffer;
  message->data = message->inline_data;
  if (buffer) {
    buffer->users = 1;
    std::memcpy(buffer->data(), data, bytes);
    message->data = buffer->data();
  }
  deliver(peer, message);
  return true;
}

StoredMessage* LoopEndpoint::oldest_packet(int peer) const {
  const uint32_t number = packets_.empty() ? 0 : packets_[peer].taken;
  return arrivals_.find(peer, packet_key(number));
}

bool LoopEndpoint::peek(int peer, Packet* packet) {
  const StoredMessage* message = oldest_packet(peer);
  if (!message) return false;
  packet->type = static_cast<uint8_t>(message->type);
  std::memcpy(packet->header, message->inline_data, Packet::kHeaderBytes);
  packet->data = message->data;
  packet->bytes = message->bytes;
  return true;
}

void LoopEndpoint::pop(int peer) {
  StoredMessage* message = oldest_packet(peer);
  ++packets_with(peer).taken;
  arrivals_.remove(message);
  group_.pool_.give(message);
}

int64_t LoopEndpoint::locate(int, const std::byte* data, size_t) const {
  return group_.options_.direct ? static_cast<int64_t>(reinterpret_cast<intptr_t>(data)) : -1;
}

std::byte* LoopEndpoint::resolve(int, int64_t location) const {
  return reinterpret_cast<std::byte*>(static_cast<intptr_t>(location));
}

// --- Trouble ----------------------------------------------------------------------------------

std::optional<Trouble> LoopEndpoint::check(bool, std::span<const int>) {
  for (const auto& peer : group_.endpoints_) {
    if (peer.get() == this || peer->failure_.ok()) continue;
    return Trouble{Trouble::failed, peer->rank(), {}, peer->failure_.code(), peer->failure_.text()};
  }
  return std::nullopt;
}

void LoopEndpoint::announce_failure(Code code, const std::string& text) {
  if (failure_.ok()) failure_ = Status(code, text);
}

}  // namespace wia
