#include "engine/point_to_point.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace wia {
namespace {

constexpr size_t kEagerBytes = 4096;
constexpr size_t kCopyAtOnce = size_t{1} << 20;    // then others get a turn
constexpr size_t kPieceBytes = size_t{256} << 10;  // of a transfer that goes as messages

}  // namespace

PointToPoint::PointToPoint(Endpoint& endpoint)
    : endpoint_(endpoint), peers_(static_cast<size_t>(endpoint.size())) {}

void PointToPoint::start(Transfer& transfer) {
  transfer.id = next_id_++;
  transfer.finished = false;
  active_.emplace(transfer.id, &transfer);
  transfer.stage = transfer.sends ? Transfer::Stage::queued : Transfer::Stage::posted;
  if (transfer.peer == Transfer::kAnyPeer) {
    for (int peer = 0; peer < endpoint_.size(); ++peer)
      if (match_unexpected(transfer, peer)) return;
    anywhere_.push_back(&transfer);
    return;
  }
  join(transfer, transfer.peer);
  Peer& peer = peers_[transfer.peer];
  if (transfer.sends)
    peer.starting.push_back(&transfer);
  else if (!match_unexpected(transfer, transfer.peer))
    peer.posted.push_back(&transfer);
}

// The transfer is one with this peer.
void PointToPoint::join(Transfer& transfer, int peer) {
  transfer.peer = peer;
  ++peers_[peer].transfers;
  if (!std::exchange(peers_[peer].is_partner, true)) partners_.push_back(peer);
}

bool PointToPoint::match_unexpected(Transfer& receive, int peer) {
  auto& unexpected = peers_[peer].unexpected;
  const auto message = std::find_if(unexpected.begin(), unexpected.end(),
                                    [&](const Unexpected& m) { return m.header.tag == receive.tag; });
  if (message == unexpected.end()) return false;
  const Unexpected first = std::move(*message);
  unexpected.erase(message);
  if (receive.peer == Transfer::kAnyPeer) join(receive, peer);
  match(receive, first.header, first.is_eager ? first.data.data() : nullptr);
  return true;
}

// The receive for a message of this peer: the one that was posted first. Null: none yet.
Transfer* PointToPoint::take_posted(int peer, int tag) {
  const auto first = [tag](std::deque<Transfer*>& queue) {
    return std::find_if(queue.begin(), queue.end(), [tag](const Transfer* t) { return t->tag == tag; });
  };
  auto& posted = peers_[peer].posted;
  const auto named = first(posted), any = first(anywhere_);
  const bool has_named = named != posted.end();
  if (any != anywhere_.end() && !(has_named && static_cast<int32_t>((*named)->id - (*any)->id) < 0)) {
    Transfer* receive = *any;
    anywhere_.erase(any);
    join(*receive, peer);
    return receive;
  }
  if (!has_named) return nullptr;
  Transfer* receive = *named;
  posted.erase(named);
  return receive;
}

bool PointToPoint::progress() {
  if (active_.empty()) return false;
  bool moved = false;
  for (int peer = 0; peer < endpoint_.size() && !anywhere_.empty(); ++peer)
    if (peers_[peer].transfers == 0) moved |= take_packet(peer);
  for (size_t i = 0; i < partners_.size(); ++i) {
    moved |= start_sends(partners_[i]);
    if (peers_[partners_[i]].transfers > 0) moved |= take_packet(partners_[i]);
  }
  std::erase_if(partners_,
                [this](int peer) { return !(peers_[peer].is_partner = peers_[peer].transfers > 0); });
  for (size_t i = 0; i < moving_.size();) {
    Transfer& transfer = *moving_[i];
    moved |= step(transfer);
    if (transfer.finished || transfer.stage == Transfer::Stage::receiving) {
      moving_[i] = moving_.back();
      moving_.pop_back();
    } else {
      ++i;
    }
  }
  return moved;
}

// One at a time: a look for the next one may be a system call, and this one may be all that is waited for.
bool PointToPoint::take_packet(int peer) {
  Packet packet;
  if (!endpoint_.peek(peer, &packet)) return false;
  handle(peer, packet);
  endpoint_.pop(peer);
  return true;
}

Transfer* PointToPoint::find(uint32_t id) {
  const auto found = active_.find(id);
  return found == active_.end() ? nullptr : found->second;
}

void PointToPoint::handle(int peer, const Packet& packet) {
  Header header;
  std::memcpy(&header, packet.header, sizeof header);
  switch (packet.type) {
    case eager:
    case request: {
      const bool is_eager = packet.type == eager;
      if (Transfer* receive = take_posted(peer, header.tag))
        match(*receive, header, is_eager ? packet.data : nullptr);
      else
        peers_[peer].unexpected.push_back(
            {header, is_eager, {packet.data, packet.data + (is_eager ? packet.bytes : 0)}});
      return;
    }
    case ready:
      if (Transfer* transfer = find(header.id)) {
        transfer->peer_id = header.peer_id;
        transfer->location = header.location;
        transfer->stage = header.location >= 0 ? Transfer::Stage::writing : Transfer::Stage::streaming;
        moving_.push_back(transfer);
      }
      return;
    case piece:
      if (Transfer* transfer = find(header.id)) {
        std::memcpy(transfer->data + header.offset, packet.data, packet.bytes);
        transfer->moved += packet.bytes;
        if (transfer->moved == transfer->bytes) finish(*transfer);
      }
      return;
    case done:
    case written:
      if (Transfer* transfer = find(header.id)) finish(*transfer);
      return;
  }
}

// A receive has met its message. eager_data: the message itself; null: it was announced.
void PointToPoint::match(Transfer& receive, const Header& header, const std::byte* eager_data) {
  const bool announced = eager_data == nullptr && header.bytes > kEagerBytes;
  if (header.bytes != receive.bytes) {
    receive.status = Status::error(header.bytes > receive.bytes ? Code::truncated : Code::invalid_argument,
                                   "the message from rank {} with tag {} has {} bytes, the receive buffer {}",
                                   receive.peer, receive.tag, header.bytes, receive.bytes);
  } else if (!announced && receive.bytes > 0) {
    std::memcpy(receive.data, eager_data, receive.bytes);
  }
  if (!announced) {
    finish(receive, std::move(receive.status));
    return;
  }
  receive.peer_id = header.id;
  receive.location = header.location;
  receive.moved = 0;
  // With an error the sender is only told that it is done.
  receive.stage = !receive.status.ok()   ? Transfer::Stage::read
                  : header.location >= 0 ? Transfer::Stage::reading
                                         : Transfer::Stage::matched;
  moving_.push_back(&receive);
}

bool PointToPoint::start_sends(int peer) {
  bool moved = false;
  auto& starting = peers_[peer].starting;
  while (!starting.empty()) {
    Transfer& transfer = *starting.front();
    const bool small = transfer.bytes <= kEagerBytes;
    const Header header{transfer.tag,
                        transfer.id,
                        0,
                        0,
                        transfer.bytes,
                        0,
                        small ? -1 : endpoint_.locate(peer, transfer.data, transfer.bytes)};
    if (!endpoint_.push(peer, small ? eager : request, &header, sizeof header, transfer.data,
                        small ? transfer.bytes : 0))
      return moved;
    starting.pop_front();
    moved = true;
    if (!small) {
      transfer.stage = Transfer::Stage::announced;
    } else {
      leave(transfer, {});
    }
  }
  return moved;
}

// Carries a matched transfer on as far as there is room.
bool PointToPoint::step(Transfer& t) {
  using Stage = Transfer::Stage;
  const auto tell = [&](PacketType type) {
    const int64_t location = type == ready ? endpoint_.locate(t.peer, t.data, t.bytes) : -1;
    const Header header{t.tag, t.peer_id, t.id, 0, t.bytes, 0, location};
    return endpoint_.push(t.peer, type, &header, sizeof header, nullptr, 0);
  };
  switch (t.stage) {
    case Stage::matched:
      if (!tell(ready)) return false;
      t.stage = endpoint_.carries_transfers(t.peer) ? Stage::taking : Stage::receiving;
      return true;
    case Stage::reading:
    case Stage::writing: {
      const size_t part = std::min(kCopyAtOnce, t.bytes - t.moved);
      std::byte* other = endpoint_.resolve(t.peer, t.location) + t.moved;
      std::byte* own = t.data + t.moved;
      std::memcpy(t.stage == Stage::reading ? own : other, t.stage == Stage::reading ? other : own, part);
      t.moved += part;
      if (t.moved == t.bytes) t.stage = t.stage == Stage::reading ? Stage::read : Stage::written;
      return true;
    }
    case Stage::read:
    case Stage::written:
      if (!tell(t.stage == Stage::read ? done : written)) return false;
      leave(t, std::move(t.status));
      return true;
    case Stage::taking:
      return take_pieces(t);
    case Stage::streaming: {
      if (endpoint_.carries_transfers(t.peer)) return post_pieces(t);
      bool moved = false;
      while (t.moved < t.bytes) {
        const size_t part = std::min(endpoint_.max_packet_data(), t.bytes - t.moved);
        const Header header{t.tag, t.peer_id, t.id, 0, t.bytes, t.moved, -1};
        if (!endpoint_.push(t.peer, piece, &header, sizeof header, t.data + t.moved, part)) return moved;
        t.moved += part;
        moved = true;
      }
      leave(t, {});
      return true;
    }
    case Stage::leaving:
      if (!endpoint_.flushed(t.peer)) return false;
      finish(t, std::move(t.status));
      return true;
    default:
      return false;
  }
}

bool PointToPoint::post_pieces(Transfer& t) {
  bool moved = false;
  for (; t.moved < t.bytes; moved = true) {
    const size_t part = std::min(kPieceBytes, t.bytes - t.moved);
    const Key key = transfer_key(t.peer_id, static_cast<uint32_t>(t.moved / kPieceBytes));
    if (!endpoint_.post_direct({&t.peer, 1}, key, t.data + t.moved, part)) return moved;
    t.moved += part;
  }
  leave(t, {});
  return true;
}

bool PointToPoint::take_pieces(Transfer& t) {
  bool moved = false;
  for (; t.moved < t.bytes; moved = true) {
    const size_t part = std::min(kPieceBytes, t.bytes - t.moved);
    std::byte* place = t.data + t.moved;
    Message message;
    if (!endpoint_.find(t.peer, transfer_key(t.id, static_cast<uint32_t>(t.moved / kPieceBytes)), &message,
                        {place, part}))
      return moved;
    if (message.data != place) std::memcpy(place, message.data, part);
    endpoint_.release(t.peer, message);
    t.moved += part;
  }
  finish(t);
  return true;
}

// The last packet was pushed: finished once it is on its way.
void PointToPoint::leave(Transfer& transfer, Status status) {
  if (endpoint_.flushed(transfer.peer)) {
    finish(transfer, std::move(status));
    return;
  }
  transfer.status = std::move(status);
  transfer.stage = Transfer::Stage::leaving;
  if (std::find(moving_.begin(), moving_.end(), &transfer) == moving_.end()) moving_.push_back(&transfer);
}

void PointToPoint::forget(Transfer& transfer) {
  active_.erase(transfer.id);
  if (transfer.peer != Transfer::kAnyPeer) --peers_[transfer.peer].transfers;
}

void PointToPoint::finish(Transfer& transfer, Status status) {
  forget(transfer);
  transfer.status = std::move(status);
  transfer.finished = true;
}

void PointToPoint::cancel(Transfer& transfer) {
  forget(transfer);
  std::erase(moving_, &transfer);
  std::erase(anywhere_, &transfer);
  if (transfer.peer == Transfer::kAnyPeer) return;
  std::erase(peers_[transfer.peer].posted, &transfer);
  std::erase(peers_[transfer.peer].starting, &transfer);
}

void PointToPoint::fail(const Status& status) {
  for (auto& [id, transfer] : active_) {
    transfer->status = status.copy();
    transfer->finished = true;
  }
  active_.clear();
  moving_.clear();
  partners_.clear();
  anywhere_.clear();
  for (Peer& peer : peers_) peer = {};
}

std::string PointToPoint::describe() const {
  std::string text;
  for (const auto& [id, t] : active_) {
    if (!text.empty()) text += "; ";
    const bool waits =
        t->sends ? t->stage <= Transfer::Stage::announced : t->stage == Transfer::Stage::posted;
    const bool any = t->peer == Transfer::kAnyPeer;
    text += fmt::format("a {} of {} bytes {} {} with tag {}{}", t->sends ? "send" : "receive", t->bytes,
                        t->sends ? "to" : "from", any ? "any rank" : fmt::format("rank {}", t->peer), t->tag,
                        !waits     ? ""
                        : t->sends ? " (that rank has posted no matching receive)"
                        : any      ? " (no rank has sent anything with this tag)"
                                   : " (that rank has sent nothing with this tag)");
    if (text.size() > 600) break;
  }
  return text;
}

}  // namespace wia
