#include "transport/frame_endpoint.hpp"

#include <algorithm>
#include <cstring>

namespace wia {
namespace {

// Packets lie in the same lists as messages; no message has this tag.
constexpr uint32_t kPacketTag = UINT32_MAX;

Key packet_key(uint32_t number) { return {0, number, kPacketTag}; }

std::span<const std::byte> bytes_of(const FrameHeader& header) {
  return std::as_bytes(std::span(&header, 1));
}

// The frames that go before a message's bytes, one behind the other.
class Head {
 public:
  template <class Part>
  void add(const Part& part) {
    std::memcpy(bytes_ + size_, &part, sizeof part);
    size_ += sizeof part;
  }
  void add(const void* data, size_t bytes) {
    std::memcpy(bytes_ + size_, data, bytes);
    size_ += bytes;
  }
  std::span<const std::byte> bytes() const { return {bytes_, size_}; }

 private:
  std::byte bytes_[2 * sizeof(FrameHeader) + sizeof(CallSignature) + Packet::kHeaderBytes];
  size_t size_ = 0;
};

}  // namespace

FrameEndpoint::FrameEndpoint(int rank, int size, std::unique_ptr<Wire> wire, size_t max_message)
    : Endpoint(rank, size),
      max_message_(max_message),
      arrivals_(size),
      peers_(static_cast<size_t>(size)),
      wire_(std::move(wire)) {
  wire_->attach(this, pool_);
}

FrameEndpoint::~FrameEndpoint() {
  FrameHeader goodbye;
  goodbye.kind = FrameKind::goodbye;
  wire_->end(bytes_of(goodbye));
}

// --- Calls ------------------------------------------------------------------------------------

void FrameEndpoint::enter(const CallSignature& call, std::span<const int> to_tell, std::byte*, size_t) {
  call_ = call;
  for (const int peer : to_tell) owe(peer, &Peer::owed_call);
}

void FrameEndpoint::leave() {
  if (num_expected_ == 0) return;
  for (Peer& peer : peers_) peer.expected.clear();
  num_expected_ = 0;
}

Endpoint::Entered FrameEndpoint::entered(int p) {
  const Peer& peer = peers_[p];
  if (peer.call.sequence < call_.sequence) wire_->poll(p);
  if (peer.call.sequence < call_.sequence) {
    missed(p);
    return Entered::no;
  }
  if (peer.call.sequence > call_.sequence) return Entered::same;  // it has gone on: it had no complaint
  return peer.call.hash == call_.hash ? Entered::same : Entered::other;
}

// --- Debts: what a peer must hear, though no message goes there --------------------------------

void FrameEndpoint::owe(int p, bool Peer::*what) {
  Peer& peer = peers_[p];
  if (!peer.owed_call && !peer.owed_credit) owed_.push_back(p);
  peer.*what = true;
}

bool FrameEndpoint::pay(int p) {
  Peer& peer = peers_[p];
  if (is_gone(p)) {
    peer.owed_call = peer.owed_credit = false;
  } else {
    const bool tell_call = peer.owed_call && peer.told_call != call_.sequence;
    const bool tell_credit = peer.messages.owes() || peer.packets.owes();
    if (tell_call || tell_credit) {
      if (!wire_->ready(p, FrameKind::credit)) return false;
      const FrameHeader header =
          header_for(peer, tell_call ? FrameKind::call : FrameKind::credit, tell_call ? sizeof call_ : 0);
      if (tell_call) peer.told_call = call_.sequence;
      wire_->send(p, header.kind, bytes_of(header), reinterpret_cast<const std::byte*>(&call_), header.bytes,
                  nullptr);
    }
    peer.owed_call = peer.owed_credit = false;
  }
  return true;
}

void FrameEndpoint::pay_debts() {
  if (owed_.empty()) return;
  std::erase_if(owed_, [this](int peer) { return pay(peer); });
}

// --- Sending ----------------------------------------------------------------------------------

FrameHeader FrameEndpoint::header_for(Peer& peer, FrameKind kind, size_t bytes) const {
  FrameHeader header;
  header.kind = kind;
  header.bytes = static_cast<uint32_t>(bytes);
  header.signature = call_.hash;
  header.messages_taken = peer.messages.told = peer.messages.taken;
  header.packets_taken = peer.packets.told = peer.packets.taken;
  return header;
}

void FrameEndpoint::missed(int peer) {
  if (is_gone(peer)) peers_[peer].missed_in = call_.sequence;
  pay_debts();
}

bool FrameEndpoint::has_room(int p) {
  const auto room = [&] { return !peers_[p].messages.full() && wire_->ready(p, FrameKind::data); };
  if (room()) return true;
  wire_->poll(p);
  if (room()) return true;
  missed(p);
  return false;
}

bool FrameEndpoint::all_have_room(std::span<const int> peers) {
  return std::all_of(peers.begin(), peers.end(), [this](int peer) { return has_room(peer); });
}

bool FrameEndpoint::can_post(int peer) { return has_room(peer); }

std::byte* FrameEndpoint::stage(std::span<const int> peers, size_t bytes) {
  if (!all_have_room(peers)) return nullptr;
  if (staged_ && staged_->allocated < bytes) pool_->give(std::exchange(staged_, nullptr));
  if (!staged_) staged_ = pool_->take_buffer(bytes);
  return staged_ ? staged_->data() : nullptr;
}

void FrameEndpoint::post(std::span<const int> peers, Key key, size_t bytes) {
  MessageBuffer* buffer = std::exchange(staged_, nullptr);
  buffer->users = static_cast<uint32_t>(peers.size());
  for (const int peer : peers) send_message(peer, key, buffer->data(), bytes, buffer);
}

bool FrameEndpoint::post_direct(std::span<const int> peers, Key key, const std::byte* data, size_t bytes) {
  if (!all_have_room(peers)) return false;
  for (const int peer : peers) send_message(peer, key, data, bytes, nullptr);
  return true;
}

void FrameEndpoint::send_message(int p, Key key, const std::byte* data, size_t bytes, MessageBuffer* buffer) {
  Peer& peer = peers_[p];
  Head head;
  if (peer.told_call != call_.sequence) {
    head.add(header_for(peer, FrameKind::call, sizeof call_));
    head.add(call_);
    peer.told_call = call_.sequence;
  }
  FrameHeader header = header_for(peer, FrameKind::data, bytes);
  header.key = key;
  head.add(header);
  ++peer.messages.sent;
  wire_->send(p, FrameKind::data, head.bytes(), data, bytes, buffer);
}

bool FrameEndpoint::drained() {
  pay_debts();
  return owed_.empty() && wire_->flushed();
}

// --- Receiving --------------------------------------------------------------------------------

std::span<std::byte> FrameEndpoint::take_expected(Peer& peer, const FrameHeader& header) {
  if (header.signature != call_.hash && header.key.tag != kTransferTag) return {};
  for (Expected& expected : peer.expected) {
    if (expected.key != header.key || expected.place.size() != header.bytes) continue;
    const auto place = expected.place;
    expected = peer.expected.back();
    peer.expected.pop_back();
    --num_expected_;
    return place;
  }
  return {};
}

Arriving FrameEndpoint::begin(int p, const FrameHeader& header) {
  Peer& peer = peers_[p];
  const size_t bytes = header.bytes;
  bool legal = false;
  switch (header.kind) {
    case FrameKind::call:
      legal = bytes == sizeof(CallSignature);
      break;
    case FrameKind::data:
      legal = peer.messages.arrived - peer.messages.taken < kFrameCapacity;
      break;
    case FrameKind::packet:
      legal = bytes >= Packet::kHeaderBytes && bytes <= Packet::kHeaderBytes + max_packet_data() &&
              peer.packets.arrived - peer.packets.taken < kFrameCapacity;
      break;
    case FrameKind::failure:
      legal = bytes <= kMaxFailureText;
      break;
    case FrameKind::credit:
    case FrameKind::goodbye:
      legal = bytes == 0;
      break;
  }
  if (!legal) return {};
  StoredMessage* message = pool_->take();
  message->key = header.key;
  message->bytes = bytes;
  message->signature = header.signature;
  std::byte* data = message->inline_data;
  if (header.kind == FrameKind::data && !peer.expected.empty()) {
    const auto place = take_expected(peer, header);
    if (!place.empty()) data = place.data();
  }
  if (data == message->inline_data && bytes > StoredMessage::kInlineBytes) {
    message->buffer = pool_->take_buffer(bytes);
    if (!message->buffer) {
      pool_->give(message);
      return {};
    }
    message->buffer->users = 1;
    data = message->buffer->data();
  }
  if (header.kind == FrameKind::data) ++peer.messages.arrived;
  if (header.kind == FrameKind::packet) message->key = packet_key(peer.packets.arrived++);
  message->data = data;
  return {message, data};
}

void FrameEndpoint::arrived(int p, const FrameHeader& header, Arriving arriving) {
  Peer& peer = peers_[p];
  peer.messages.hear(header.messages_taken);
  peer.packets.hear(header.packets_taken);
  StoredMessage* message = arriving.message;
  switch (header.kind) {
    case FrameKind::data:
    case FrameKind::packet:
      message->type = header.type;
      arrivals_.insert(p, message);
      return;
    case FrameKind::call: {
      CallSignature call;
      std::memcpy(&call, message->data, sizeof call);
      if (call.sequence > peer.call.sequence) peer.call = call;
      break;
    }
    case FrameKind::failure:
      if (peer.failure_code == Code::ok) {
        peer.failure_code = static_cast<Code>(static_cast<int32_t>(header.signature));
        peer.failure.assign(reinterpret_cast<const char*>(message->data), message->bytes);
      }
      break;
    case FrameKind::goodbye:
      peer.has_left = true;
      break;
    case FrameKind::credit:
      break;
  }
  pool_->give(message);
}

bool FrameEndpoint::find(int p, Key key, Message* message, std::span<std::byte> place) {
  const StoredMessage* arrived = arrivals_.find(p, key);
  if (!arrived) {
    Peer& peer = peers_[p];
    if (!place.empty() && place.size() > StoredMessage::kInlineBytes) {
      const auto known = std::find_if(peer.expected.begin(), peer.expected.end(),
                                      [&](const Expected& expected) { return expected.key == key; });
      if (known == peer.expected.end()) {
        peer.expected.push_back({key, place});
        ++num_expected_;
      }
    }
    if (wire_->poll(p)) arrived = arrivals_.find(p, key);
    if (!arrived) {
      // A peer in another call under the same number: let the engine see it.
      if (key.tag != kTransferTag && peer.call.sequence == call_.sequence && peer.call.hash != call_.hash) {
        *message = {reinterpret_cast<const std::byte*>(this), 0, peer.call.hash, 0};
        return true;
      }
      missed(p);
      return false;
    }
  }
  *message = {arrived->data, arrived->bytes, arrived->signature, arrived->index};
  return true;
}

void FrameEndpoint::release(int p, const Message& message) {
  StoredMessage* released = pool_->at(message.handle);
  arrivals_.remove(released);
  pool_->give(released);
  Peer& peer = peers_[p];
  ++peer.messages.taken;
  if (!peer.messages.owes()) return;
  owe(p, &Peer::owed_credit);
  pay_debts();
}

// --- Packets ----------------------------------------------------------------------------------

bool FrameEndpoint::push(int p, uint8_t type, const void* packet_header, size_t header_bytes,
                         const std::byte* data, size_t bytes) {
  Peer& peer = peers_[p];
  if (peer.packets.full() || !wire_->ready(p, FrameKind::packet)) {
    wire_->poll(p);
    missed(p);
    return false;
  }
  FrameHeader header = header_for(peer, FrameKind::packet, Packet::kHeaderBytes + bytes);
  header.type = type;
  std::byte padded[Packet::kHeaderBytes] = {};
  std::memcpy(padded, packet_header, header_bytes);
  Head head;
  head.add(header);
  head.add(padded, sizeof padded);
  ++peer.packets.sent;
  wire_->send(p, FrameKind::packet, head.bytes(), data, bytes, nullptr);
  return true;
}

bool FrameEndpoint::peek(int p, Packet* packet) {
  const Key key = packet_key(peers_[p].packets.taken);
  const StoredMessage* message = arrivals_.find(p, key);
  if (!message && wire_->poll(p)) message = arrivals_.find(p, key);
  if (!message) return false;
  packet->type = static_cast<uint8_t>(message->type);
  std::memcpy(packet->header, message->data, Packet::kHeaderBytes);
  packet->data = message->data + Packet::kHeaderBytes;
  packet->bytes = message->bytes - Packet::kHeaderBytes;
  return true;
}

void FrameEndpoint::pop(int p) {
  Peer& peer = peers_[p];
  StoredMessage* message = arrivals_.find(p, packet_key(peer.packets.taken));
  arrivals_.remove(message);
  pool_->give(message);
  ++peer.packets.taken;
  if (!peer.packets.owes()) return;
  owe(p, &Peer::owed_credit);
  pay_debts();
}

// --- Trouble ----------------------------------------------------------------------------------

std::optional<Trouble> FrameEndpoint::check(bool collective, std::span<const int> partners) {
  pay_debts();
  for (int p = 0; p < size(); ++p) {
    constexpr int kAtMost = 2 * kFrameCapacity;
    for (int i = 0; i < kAtMost && wire_->connected(p) && wire_->poll(p); ++i) {
    }
  }
  const auto wanted = [&](int p) {
    return (collective && peers_[p].missed_in == call_.sequence) ||
           std::find(partners.begin(), partners.end(), p) != partners.end();
  };
  for (int p = 0; p < size(); ++p) {
    const Peer& peer = peers_[p];
    if (peer.failure_code == Code::ok || peer.has_left) continue;
    // A peer that failed in a later call has done its part in this one.
    if (collective && peer.call.sequence > call_.sequence && !wanted(p)) continue;
    return Trouble{Trouble::failed, p, {}, peer.failure_code, peer.failure};
  }
  for (int p = 0; p < size(); ++p) {
    const Peer& peer = peers_[p];
    if (collective && peer.call.sequence == call_.sequence && peer.call.hash != call_.hash)
      return Trouble{Trouble::mismatch, p, peer.call, Code::mismatch, ""};
    if (!is_gone(p) || !wanted(p)) continue;
    if (peer.has_left)
      return Trouble{Trouble::left, p, {}, Code::peer_failed, "it has left the communicator"};
    const Status& loss = *wire_->loss(p);
    if (loss.code() == Code::system)
      return Trouble{Trouble::failed, p, {}, loss.code(), loss.text()};  // of this rank
    return Trouble{Trouble::dead, p, {}, Code::peer_failed, loss.text()};
  }
  return std::nullopt;
}

void FrameEndpoint::announce_failure(Code code, const std::string& text) {
  FrameHeader call;  // in which it was: a peer in an earlier one may still end that
  call.kind = FrameKind::call;
  call.bytes = sizeof call_;
  call.signature = call_.hash;
  FrameHeader header;
  header.kind = FrameKind::failure;
  header.bytes = static_cast<uint32_t>(std::min(text.size(), kMaxFailureText));
  header.signature = static_cast<uint32_t>(static_cast<int32_t>(code));
  std::vector<std::byte> words;
  const auto add = [&](const void* data, size_t bytes) {
    const auto* first = static_cast<const std::byte*>(data);
    words.insert(words.end(), first, first + bytes);
  };
  add(&call, sizeof call);
  add(&call_, sizeof call_);
  add(&header, sizeof header);
  add(text.data(), header.bytes);
  wire_->end(words);
}

}  // namespace wia
