#include "transport/ofi_wire.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <sstream>

#include "base/log.hpp"
#include "transport/ofi_control.hpp"
#include "transport/ofi_message.hpp"
#include "transport/ofi_port.hpp"
#include "transport/ofi_reader.hpp"

namespace wia {
namespace {

constexpr int64_t kLookEvery = 200'000;  // ns; at the connection beside
// Short messages to a peer that libfabric has no connection with yet, or that is slow.
constexpr int kMostSending = 64;
// Behind the headers a message has room for so much of a frame; what is longer is read by the receiver.
constexpr size_t kShortFrame = OfiMessage::kMaxBytes - 256;

class PortsWire final : public OfiWire {
 public:
  explicit PortsWire(std::vector<OfiSeat*> seats) : seats_(std::move(seats)) {}
  ~PortsWire() override { leave_seats(); }

  std::string name() const override;
  void meet(int rank, const std::vector<std::string>& names,
            const std::function<std::vector<int>(int, int)>& rails_to,
            std::unique_ptr<TcpWire> control) override;
  bool poll(int peer) override;
  bool ready(int peer, FrameKind kind) override;
  void send(int peer, FrameKind kind, std::span<const std::byte> head, const std::byte* data, size_t bytes,
            MessageBuffer* buffer) override;
  bool copies_data() const override { return true; }
  bool flushed(int peer) override { return is_flushed(way(peer).unfinished); }
  bool flushed() override { return is_flushed(unfinished_); }
  bool connected(int peer) override { return !ended_ && (way(peer).heard || control_->connected(peer)); }
  const Status* loss(int peer) const override;
  std::string describe(int peer) const override;
  void end(std::span<const std::byte> last_words) override;

 private:
  // The way from a seat to the peer's seat at the NIC that leads there.
  struct Rail {
    OfiSeat* seat = nullptr;
    std::string port;
    uint32_t peer_seat = 0;
    fi_addr_t address = FI_ADDR_UNSPEC;
  };
  struct Way {
    std::vector<Rail> rails;
    size_t next = 0;  // the rail for the next message
    bool open = false, heard = false, news = false;
    bool is_deaf = false;             // what is sent to the peer does not matter any more
    bool is_ignored = false;          // nor what comes from it
    uint32_t sent = 0, received = 0;  // messages
    int sending = 0;                  // messages
    int unfinished = 0;               // messages and offers
    int64_t looked = 0;               // at the connection beside
    Status loss;
  };
  Way& way(int peer) { return ways_[static_cast<size_t>(peer)]; }
  const Way& way(int peer) const { return ways_[static_cast<size_t>(peer)]; }

  void attached() override;
  bool open(int peer);
  void lose(int peer, const std::string& reason);
  void leave_seats();

  OfiMessage* new_message(int peer, size_t rail, OfiHeader::Kind kind);
  void submit(OfiMessage* message);
  void submit_taken(OfiMessage* message);
  void send_short(int peer, size_t rail, std::span<const std::byte> head, const std::byte* data,
                  size_t bytes);
  void send_offer(int peer, size_t rail, std::span<const std::byte> head, const std::byte* data, size_t bytes,
                  MessageBuffer* buffer);
  void give_back(MessageBuffer* buffer) {
    if (buffer && --buffer->users == 0) pool_->give(buffer);
  }
  void done(Way& way);
  void give_up(int peer);
  bool is_flushed(const int& unfinished) {
    if (unfinished > 0) progress();
    return unfinished == 0;
  }

  void progress();
  void look(int peer);
  void hear(OfiSeat& seat, const OfiNews& news, std::span<const std::byte> bytes);
  void take_message(OfiSeat& seat, std::span<const std::byte> bytes);
  bool take_frames(int peer, std::span<const std::byte> bytes, OfiOffered* offer);
  void begin_to_read(int peer);
  void read_ended(const OfiReader::Ended& ended);
  OfiMessage* say_taken(const OfiOffered& offered);

  int rank_ = 0;
  std::vector<OfiSeat*> seats_;
  std::vector<Way> ways_;
  std::unique_ptr<OfiControl> control_;
  std::shared_ptr<OfiReader> reader_;
  int unfinished_ = 0;  // of all ways
  bool ended_ = false;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

bool says_goodbye(std::span<const std::byte> last_words) {
  FrameHeader header;
  if (last_words.size() < sizeof header) return false;
  memcpy(&header, last_words.data(), sizeof header);
  return header.kind == FrameKind::goodbye;
}

// --- Opening ----------------------------------------------------------------------------------

std::string PortsWire::name() const {
  std::vector<std::string> names;
  for (const OfiSeat* seat : seats_) names.push_back(fmt::format("{}/{}", seat->port.name(), seat->number));
  return fmt::format("{}", fmt::join(names, ","));
}

void PortsWire::meet(int rank, const std::vector<std::string>& names,
                     const std::function<std::vector<int>(int, int)>& rails_to,
                     std::unique_ptr<TcpWire> control) {
  rank_ = rank;
  control_ = std::make_unique<OfiControl>(std::move(control), names.size());
  ways_.resize(names.size());
  std::vector<bool> used(seats_.size());
  for (size_t p = 0; p < names.size(); ++p) {
    const std::vector<std::string> theirs = words_of(names[p]);
    const size_t both = std::min(theirs.size(), seats_.size());
    for (const int nic : rails_to(static_cast<int>(p), static_cast<int>(both))) {
      const std::string& name = theirs[static_cast<size_t>(nic)];
      used[static_cast<size_t>(nic)] = true;
      const size_t slash = std::min(name.find('/'), name.size() - 1);
      const auto seat = static_cast<uint32_t>(std::strtoul(name.c_str() + slash + 1, nullptr, 10));
      ways_[p].rails.push_back(
          {seats_[static_cast<size_t>(nic)], name.substr(0, slash), seat, FI_ADDR_UNSPEC});
    }
    if (static_cast<int>(p) != rank && ways_[p].rails.empty())
      ways_[p].loss = Status(Code::unreachable, "it has no endpoint of libfabric");
  }
  for (size_t i = seats_.size(); i-- > 0;) {
    if (used[i]) continue;
    seats_[i]->port.leave(seats_[i], nullptr);
    seats_.erase(seats_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void PortsWire::attached() {
  control_->attach(sink_, pool_);
  reader_ = std::make_shared<OfiReader>(ways_.size(), sink_, pool_);
}

bool PortsWire::open(int peer) {
  Way& its = way(peer);
  if (!its.loss.ok() || !control_->open(peer)) return false;
  for (Rail& rail : its.rails) {
    auto address = rail.seat->port.find_peer(rail.port);
    if (!address) {
      lose(peer, address.status().text());
      return false;
    }
    rail.address = address.value();
  }
  return its.open = true;
}

// --- Sending ----------------------------------------------------------------------------------

bool PortsWire::ready(int peer, FrameKind) {
  Way& its = way(peer);
  if (ended_ || (!its.open && !open(peer))) return false;
  if (its.sending >= kMostSending) progress();
  return its.sending < kMostSending && !its.is_deaf;
}

// Null: no memory; the peer is lost then.
OfiMessage* PortsWire::new_message(int peer, size_t rail, OfiHeader::Kind kind) {
  const Rail& by = way(peer).rails[rail];
  OfiMessage* message = by.seat->port.take_message(*by.seat);
  if (!message) {
    lose(peer, "no memory for a message to it");
    return nullptr;
  }
  message->peer = peer;
  message->to = by.address;
  message->add(OfiHeader{by.seat->communicator, by.peer_seat, rank_, kind, 0});
  return message;
}

void PortsWire::send(int peer, FrameKind kind, std::span<const std::byte> head, const std::byte* data,
                     size_t bytes, MessageBuffer* buffer) {
  Way& its = way(peer);
  if (its.is_deaf) return give_back(buffer);  // since ready() was asked
  const size_t rail = kind == FrameKind::data ? its.next++ % usable(its.rails.size()) : 0;
  if (bytes > kShortFrame) return send_offer(peer, rail, head, data, bytes, buffer);
  send_short(peer, rail, head, data, bytes);
  give_back(buffer);
}

void PortsWire::send_short(int peer, size_t rail, std::span<const std::byte> head, const std::byte* data,
                           size_t bytes) {
  OfiMessage* message = new_message(peer, rail, OfiHeader::frames);
  if (!message) return;
  message->add(head.data(), head.size());
  message->add(data, bytes);
  submit(message);
}

void PortsWire::send_offer(int peer, size_t rail, std::span<const std::byte> head, const std::byte* data,
                           size_t bytes, MessageBuffer* buffer) {
  Way& its = way(peer);
  if (!buffer) {  // a user's memory is not libfabric's to read
    buffer = pool_->take_buffer(bytes);
    if (!buffer) return lose(peer, "no memory for a message to it");
    buffer->users = 1;
    memcpy(buffer->data(), data, bytes);
  }
  OfiMessage* message = new_message(peer, rail, OfiHeader::offer);
  if (!message) return give_back(buffer);
  OfiSeat& seat = *its.rails[rail].seat;
  auto place = seat.port.offer(seat, peer, buffer);
  if (place) {
    ++its.unfinished;
    ++unfinished_;
    message->add(place.value());
    message->add(head.data(), head.size());
  } else {
    give_back(buffer);
    message->bytes = 0;
    message->add(OfiHeader{seat.communicator, its.rails[rail].peer_seat, rank_, OfiHeader::frames, 0});
  }
  submit(message);
  if (!place) lose(peer, place.status().text());
}

void PortsWire::submit(OfiMessage* message) {
  Way& its = way(message->peer);
  ++its.sent;
  if (its.is_deaf) return message->seat->port.drop(message);
  ++its.unfinished;
  ++unfinished_;
  ++its.sending;
  message->seat->port.send(message);
}

// Though the peer may have left its seat, the memory that it has offered waits for this.
void PortsWire::submit_taken(OfiMessage* message) {
  Way& its = way(message->peer);
  if (!its.is_deaf) return submit(message);
  ++its.sending;
  message->seat->port.send(message, false);
}

void PortsWire::done(Way& its) {
  if (its.is_deaf) return;
  --its.unfinished;
  --unfinished_;
}

// What is sent to a peer that is gone may never come to an end.
void PortsWire::give_up(int peer) {
  Way& its = way(peer);
  if (std::exchange(its.is_deaf, true)) return;
  unfinished_ -= std::exchange(its.unfinished, 0);
  for (const Rail& rail : its.rails) rail.seat->port.give_up(*rail.seat, peer);
}

// --- What has come ----------------------------------------------------------------------------

bool PortsWire::poll(int peer) {
  if (ended_) return false;
  Way& its = way(peer);
  progress();
  begin_to_read(peer);
  if (const int64_t now = now_ns(); now - its.looked > kLookEvery) {
    its.looked = now;
    if (!its.open) open(peer);
    look(peer);
  }
  return std::exchange(its.news, false);
}

void PortsWire::look(int peer) {
  control_->look(peer, way(peer).received);
  if (control_->loss(peer)) give_up(peer);
}

void PortsWire::progress() {
  for (OfiSeat* seat : seats_) {
    seat->port.poll(seat);
    seat->inbox.take(
        [&](const OfiNews& news, std::span<const std::byte> bytes) { hear(*seat, news, bytes); });
  }
  reader_->go_on([this](const OfiReader::Ended& ended) { read_ended(ended); });
}

void PortsWire::hear(OfiSeat& seat, const OfiNews& news, std::span<const std::byte> bytes) {
  switch (news.kind) {
    case OfiNews::message:
      take_message(seat, bytes);
      break;
    case OfiNews::sent: {
      Way& its = way(news.peer);
      --its.sending;
      done(its);
      if (news.error != 0 && its.loss.ok()) {
        give_up(news.peer);
        control_->look(news.peer, its.received);  // it may have said goodbye
        const std::string_view reason(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        its.loss = Status::error(Code::unreachable, "the connection has failed: {}", reason);
      }
      break;
    }
    case OfiNews::taken:
      ++way(news.peer).received;
      give_back(news.buffer);
      done(way(news.peer));
      break;
    case OfiNews::read:
      if (OfiReader::Ended ended; reader_->part_ended(news.read_ended, news, bytes, &ended))
        read_ended(ended);
      break;
  }
}

void PortsWire::take_message(OfiSeat& seat, std::span<const std::byte> bytes) {
  OfiHeader header;
  memcpy(&header, bytes.data(), sizeof header);
  bytes = bytes.subspan(sizeof header);
  if (header.from < 0 || header.from == rank_ || header.from >= static_cast<int>(ways_.size())) return;
  Way& its = way(header.from);
  if (its.is_ignored) return;
  its.heard = true;
  ++its.received;
  bool good = true;
  if (header.kind == OfiHeader::frames) {
    good = take_frames(header.from, bytes, nullptr);
  } else {
    const auto rail = std::find_if(its.rails.begin(), its.rails.end(),
                                   [&](const Rail& each) { return each.seat == &seat; });
    OfiOffered offer;
    offer.peer = header.from;
    offer.seat = &seat;
    offer.rail = static_cast<size_t>(rail - its.rails.begin());
    good = header.kind == OfiHeader::offer && rail != its.rails.end() && bytes.size() >= sizeof offer.place;
    if (good) {
      memcpy(&offer.place, bytes.data(), sizeof offer.place);
      good = take_frames(header.from, bytes.subspan(sizeof offer.place), &offer);
    }
  }
  if (!good) lose(header.from, "the peer sent what makes no sense, or there is no memory for it");
}

// `offer`: of the last frame.
bool PortsWire::take_frames(int peer, std::span<const std::byte> bytes, OfiOffered* offer) {
  Way& its = way(peer);
  while (!bytes.empty()) {
    FrameHeader frame;
    if (bytes.size() < sizeof frame) return false;
    memcpy(&frame, bytes.data(), sizeof frame);
    bytes = bytes.subspan(sizeof frame);
    const bool is_message = frame.kind == FrameKind::data || frame.kind == FrameKind::packet;
    if (bytes.size() < frame.bytes) {
      if (!offer || !is_message || bytes.size() > sizeof offer->first) return false;
      offer->frame = frame;
      offer->num_first = bytes.size();
      std::copy(bytes.begin(), bytes.end(), offer->first);
      return reader_->take(*offer);
    }
    const Arriving arriving = sink_->begin(peer, frame);
    if (!arriving.message) return false;
    if (frame.bytes > 0) memcpy(arriving.data, bytes.data(), frame.bytes);
    bytes = bytes.subspan(frame.bytes);
    sink_->arrived(peer, frame, arriving);
    its.news |= is_message;
  }
  return true;
}

// One for each look at the peer: by then its receiver has said where it shall go.
void PortsWire::begin_to_read(int peer) {
  const OfiOffered* oldest = reader_->oldest(peer);
  Way& its = way(peer);
  if (!oldest || (!its.open && !open(peer))) return;
  if (Status begun = reader_->begin(peer, its.rails[oldest->rail].address); !begun.ok())
    lose(peer, begun.text());
}

void PortsWire::read_ended(const OfiReader::Ended& ended) {
  const int peer = ended.offered.peer;
  Way& its = way(peer);
  if (!ended.status.ok()) return lose(peer, "the connection has failed: " + ended.status.text());
  if (!its.is_ignored) {
    sink_->arrived(peer, ended.offered.frame, ended.arriving);
    its.news = true;
  } else {
    sink_->broken_off(ended.arriving);
  }
  if (OfiMessage* taken = say_taken(ended.offered)) submit_taken(taken);
}

// Null: the peer does not hear.
OfiMessage* PortsWire::say_taken(const OfiOffered& offered) {
  const Way& its = way(offered.peer);
  if (!its.open && !open(offered.peer)) return nullptr;
  OfiMessage* message = new_message(offered.peer, offered.rail, OfiHeader::taken);
  if (message) message->add(OfiOffer{0, 0, offered.place.number, 0});
  return message;
}

// --- The end ----------------------------------------------------------------------------------

// Offers to it stay until it has taken them, or this rank has left for long: it may be reading.
void PortsWire::lose(int peer, const std::string& reason) {
  Way& its = way(peer);
  if (std::exchange(its.is_ignored, true)) return;
  control_->look(peer, its.received);  // it may have said goodbye
  give_up(peer);
  if (its.loss.ok()) its.loss = Status::error(Code::unreachable, "{}", reason);
  reader_->drop(peer);
}

const Status* PortsWire::loss(int peer) const {
  if (!way(peer).loss.ok()) return &way(peer).loss;
  return control_->loss(peer);
}

std::string PortsWire::describe(int peer) const {
  const Way& its = way(peer);
  const std::string by = its.rails.empty() || ended_ ? "libfabric" : its.rails[0].seat->port.text();
  return fmt::format("{}, {}", control_->describe(peer), by);
}

void PortsWire::end(std::span<const std::byte> last_words) {
  if (ended_) return;
  progress();  // offers that have come are answered
  for (size_t p = 0; p < ways_.size(); ++p)
    if (ways_[p].open) look(static_cast<int>(p));
  ended_ = true;
  reader_->stop([this](const OfiOffered& offered, OfiRead* read) {
    OfiMessage* taken = say_taken(offered);
    if (taken && read)
      taken->seat->port.send_after(read, taken, !way(offered.peer).is_deaf);
    else if (taken)
      submit_taken(taken);
  });
  std::vector<uint32_t> sent;
  for (const Way& each : ways_) sent.push_back(each.sent);
  control_->end(last_words, sent);
  // Who has failed owes nobody anything but the reason.
  if (!says_goodbye(last_words))
    for (size_t p = 0; p < ways_.size(); ++p) give_up(static_cast<int>(p));
  leave_seats();
  unfinished_ = 0;
  for (Way& each : ways_) each.unfinished = 0;
}

void PortsWire::leave_seats() {
  for (OfiSeat* seat : std::exchange(seats_, {})) seat->port.leave(seat, reader_);
}

}  // namespace

namespace {

Result<std::vector<OfiPort*>> open_ports(const OfiOptions& options) {
  auto library = OfiLibrary::load();
  if (!library) return library.take_status();
  auto nics = find_ofi_nics(*library.value(), options);
  if (!nics) return nics.take_status();
  log::debug("libfabric {}: {} on {} NICs", library.value()->version_text(), nics.value()->front().provider(),
             nics.value()->size());
  std::vector<OfiPort*> ports;
  for (const OfiNic& nic : *nics.value()) {
    auto port = OfiPort::on(*library.value(), nic, options.wake_sleepers);
    if (!port) return port.take_status();
    ports.push_back(port.value());
  }
  return ports;
}

}  // namespace

Result<std::unique_ptr<OfiWire>> make_ofi_wire(const OfiOptions& options, uint64_t communicator) {
  auto ports = open_ports(options);
  if (!ports) return ports.take_status();
  std::vector<OfiSeat*> seats;
  for (OfiPort* port : ports.value()) seats.push_back(port->take_seat(communicator));
  return std::unique_ptr<OfiWire>(std::make_unique<PortsWire>(std::move(seats)));
}

bool ofi_wakes_sleepers(const OfiOptions& options) {
  auto ports = open_ports(options);
  return ports && std::all_of(ports.value().begin(), ports.value().end(),
                              [](const OfiPort* port) { return port->wakes_sleepers(); });
}

void arm_ofi(Doorbell& bell) { OfiPort::arm_all(bell); }

bool settle_ofi(Deadline deadline) { return OfiPort::settle(deadline); }

Result<std::string> describe_ofi() {
  auto library = OfiLibrary::load();
  if (!library) return library.take_status();
  return fmt::format("{}; usable here: {}", library.value()->version_text(),
                     list_ofi_providers(*library.value()));
}

}  // namespace wia
