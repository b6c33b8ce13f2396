#include "transport/ofi_wire.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <deque>
#include <sstream>

#include "base/log.hpp"
#include "transport/network.hpp"
#include "transport/ofi_control.hpp"
#include "transport/ofi_linger.hpp"
#include "transport/ofi_message.hpp"
#include "transport/ofi_port.hpp"

namespace wia {
namespace {

constexpr int64_t kLookEvery = 200'000;  // ns; at the connection beside
// To a peer that libfabric has no connection with yet, or that is slow.
constexpr size_t kMostWaiting = 16;
// Behind the headers a message has room for so much of a frame; what is longer is read by the receiver.
constexpr size_t kShortFrame = OfiMessage::kMaxBytes - 256;

// A frame whose bytes the peers read from here.
struct Offered {
  int peer = -1;  // -1: free
  OfiPort* port = nullptr;
  OfiRegion* region = nullptr;
  MessageBuffer* buffer = nullptr;
};

// A frame whose bytes lie at the peer until they are read, but for the first few.
struct Offer {
  FrameHeader frame;
  OfiOffer place;
  size_t rail = 0;
  std::byte first[Packet::kHeaderBytes];
  size_t num_first = 0;
  Arriving arriving;  // a packet's: it has its number when it comes; a message's place is known later
};

// One that is being read.
struct Fetch : OfiOperation {
  Fetch() { kind = read; }
  Offer offer;
  OfiRegion* region = nullptr;
  size_t asked = 0;  // bytes that are here or have been asked for
  int reads = 0;     // under way
  bool failed = false;
};

class PortsWire final : public OfiWire {
 public:
  explicit PortsWire(std::vector<std::unique_ptr<OfiPort>> ports) : ports_(std::move(ports)) {}

  std::string name() const override;
  Status meet(int rank, uint64_t communicator, const std::vector<std::string>& names,
              const std::function<std::vector<int>(int, int)>& rails_to,
              std::unique_ptr<TcpWire> control) override;

  void attach(FrameSink* sink, MessagePool* pool) override {
    sink_ = sink;
    pool_ = pool;
    control_->attach(sink, pool);
  }
  bool ready(int peer, FrameKind kind) override;
  void send(int peer, FrameKind kind, std::span<const std::byte> head, const std::byte* data, size_t bytes,
            MessageBuffer* buffer) override;
  bool flushed(int peer) override;
  bool flushed() override;
  bool poll(int peer) override;
  const Status* loss(int peer) const override;
  bool connected(int peer) override { return !ended_ && (way(peer).heard || control_->connected(peer)); }
  std::string describe(int peer) const override;
  void end(std::span<const std::byte> last_words) override;

 private:
  // An address on the port that leads there.
  struct Rail {
    OfiPort* port = nullptr;
    std::string name;
    fi_addr_t address = FI_ADDR_UNSPEC;
  };
  struct Way {
    std::vector<Rail> rails;
    size_t next = 0;  // the rail for the next message
    bool open = false, heard = false, news = false;
    uint32_t sent = 0, received = 0;  // messages
    int unfinished = 0;               // messages and offers
    int64_t looked = 0;               // at the connection beside
    std::deque<OfiMessage*> waiting;  // messages that libfabric did not take yet
    std::vector<Offer> offers;
    Status loss;
  };
  Way& way(int peer) { return ways_[static_cast<size_t>(peer)]; }
  const Way& way(int peer) const { return ways_[static_cast<size_t>(peer)]; }

  bool open(int peer);
  void lose(int peer, const std::string& reason);

  OfiMessage* new_message(int peer, size_t rail, OfiHeader::Kind kind);
  template <class Part>
  static void add(OfiMessage& message, const Part& part) {
    add(message, &part, sizeof part);
  }
  static void add(OfiMessage& message, const void* data, size_t bytes) {
    memcpy(message.data + message.bytes, data, bytes);
    message.bytes += bytes;
  }
  void submit(OfiMessage* message);
  void send_waiting(int peer);
  void send_short(int peer, size_t rail, std::span<const std::byte> head, const std::byte* data,
                  size_t bytes);
  void send_offer(int peer, size_t rail, std::span<const std::byte> head, const std::byte* data, size_t bytes,
                  MessageBuffer* buffer);
  void finish_offer(int peer, uint32_t number);
  void let_go(Offered& offered);
  void drop_offers(Way& way);
  void done(Way& way);

  void progress();
  void complete(OfiPort& port, const OfiCompletion& completion);
  void take_message(std::span<const std::byte> bytes, OfiPort& port);
  bool take_frames(int peer, std::span<const std::byte> bytes, const Offer* offer);
  bool take_offer(int peer, Offer offer, const FrameHeader& frame, std::span<const std::byte> first);
  void begin_offer(int peer);
  void fetch(Fetch& fetch);
  void fetched(Fetch& fetch, const OfiCompletion& completion);

  int rank_ = 0;
  uint64_t communicator_ = 0;
  std::vector<std::unique_ptr<OfiPort>> ports_;
  std::vector<Way> ways_;
  std::unique_ptr<OfiControl> control_;
  FrameSink* sink_ = nullptr;
  MessagePool* pool_ = nullptr;
  std::vector<Offered> offered_;
  std::vector<uint32_t> free_offered_;
  std::vector<std::unique_ptr<Fetch>> fetches_;
  std::vector<Fetch*> free_fetches_, to_read_;  // to_read_: libfabric did not take all of it yet
  int waiting_ = 0;                             // messages
  int unfinished_ = 0;                          // of all ways
  bool ended_ = false;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

// --- Opening ----------------------------------------------------------------------------------

std::string PortsWire::name() const {
  std::vector<std::string> names;
  for (const auto& port : ports_) names.push_back(port->name());
  return fmt::format("{}", fmt::join(names, ","));
}

Status PortsWire::meet(int rank, uint64_t communicator, const std::vector<std::string>& names,
                       const std::function<std::vector<int>(int, int)>& rails_to,
                       std::unique_ptr<TcpWire> control) {
  rank_ = rank;
  communicator_ = communicator;
  control_ = std::make_unique<OfiControl>(std::move(control), names.size());
  ways_.resize(names.size());
  std::vector<bool> used(ports_.size());
  for (size_t p = 0; p < names.size(); ++p) {
    const std::vector<std::string> theirs = words_of(names[p]);
    const size_t both = std::min(theirs.size(), ports_.size());
    for (const int nic : rails_to(static_cast<int>(p), static_cast<int>(both))) {
      const auto index = static_cast<size_t>(nic);
      ways_[p].rails.push_back({ports_[index].get(), theirs[index], FI_ADDR_UNSPEC});
      used[index] = true;
    }
    if (static_cast<int>(p) != rank && ways_[p].rails.empty())
      ways_[p].loss = Status(Code::unreachable, "it has no endpoint of libfabric");
  }
  for (size_t i = ports_.size(); i-- > 0;)
    if (!used[i]) ports_.erase(ports_.begin() + static_cast<std::ptrdiff_t>(i));
  return {};
}

bool PortsWire::open(int peer) {
  Way& its = way(peer);
  if (!its.loss.ok() || !control_->open(peer)) return false;
  for (Rail& rail : its.rails) {
    auto address = rail.port->add_peer(rail.name);
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
  if (ended_ || (!its.open && !open(peer)) || !its.loss.ok()) return false;
  if (its.waiting.size() >= kMostWaiting) progress();
  return its.waiting.size() < kMostWaiting;
}

// Null: no memory; the peer is lost then.
OfiMessage* PortsWire::new_message(int peer, size_t rail, OfiHeader::Kind kind) {
  Way& its = way(peer);
  OfiMessage* message = its.rails[rail].port->take_message();
  if (!message) {
    lose(peer, "no memory for a message to it");
    return nullptr;
  }
  message->peer = peer;
  message->rail = rail;
  message->to = its.rails[rail].address;
  message->bytes = 0;
  add(*message, OfiHeader{communicator_, rank_, kind});
  return message;
}

void PortsWire::send(int peer, FrameKind kind, std::span<const std::byte> head, const std::byte* data,
                     size_t bytes, MessageBuffer* buffer) {
  Way& its = way(peer);
  const size_t rail = kind == FrameKind::data ? its.next++ % its.rails.size() : 0;
  if (bytes > kShortFrame) return send_offer(peer, rail, head, data, bytes, buffer);
  send_short(peer, rail, head, data, bytes);
  if (buffer && --buffer->users == 0) pool_->give(buffer);
}

void PortsWire::send_short(int peer, size_t rail, std::span<const std::byte> head, const std::byte* data,
                           size_t bytes) {
  OfiMessage* message = new_message(peer, rail, OfiHeader::frames);
  if (!message) return;
  add(*message, head.data(), head.size());
  if (bytes > 0) add(*message, data, bytes);
  submit(message);
}

void PortsWire::send_offer(int peer, size_t rail, std::span<const std::byte> head, const std::byte* data,
                           size_t bytes, MessageBuffer* buffer) {
  Way& its = way(peer);
  OfiPort* port = its.rails[rail].port;
  Offered offered{peer, port, nullptr, buffer};
  auto region = port->memory().hold(data, bytes, buffer);
  OfiMessage* message = region ? new_message(peer, rail, OfiHeader::offer) : nullptr;
  if (region) offered.region = region.value();
  if (!message) {
    let_go(offered);
    if (!region) lose(peer, region.status().text());
    return;
  }
  if (free_offered_.empty()) {
    free_offered_.push_back(static_cast<uint32_t>(offered_.size()));
    offered_.emplace_back();
  }
  const uint32_t number = free_offered_.back();
  free_offered_.pop_back();
  offered_[number] = offered;
  ++its.unfinished;
  ++unfinished_;
  fid_mr* registration = region.value()->registration.get();
  add(*message,
      OfiOffer{port->memory().remote_address(*region.value(), data), fi_mr_key(registration), number, 0});
  add(*message, head.data(), head.size());
  submit(message);
}

// In order: what waits goes first.
void PortsWire::submit(OfiMessage* message) {
  Way& its = way(message->peer);
  ++its.unfinished;
  ++unfinished_;
  ++its.sent;
  ++waiting_;
  its.waiting.push_back(message);
  send_waiting(message->peer);
}

void PortsWire::send_waiting(int peer) {
  Way& its = way(peer);
  while (!its.waiting.empty()) {
    OfiMessage* message = its.waiting.front();
    OfiPort* port = its.rails[message->rail].port;
    const ssize_t code = port->send(message);
    if (code == -FI_EAGAIN) return;
    its.waiting.pop_front();
    --waiting_;
    if (code == 0) continue;
    port->give_back(message);
    done(its);
    lose(peer,
         fmt::format("{} ({})", OfiLibrary::load().value()->strerror(static_cast<int>(-code)), port->text()));
    return;
  }
}

void PortsWire::done(Way& its) {
  if (!its.loss.ok()) return;
  --its.unfinished;
  --unfinished_;
}

void PortsWire::let_go(Offered& offered) {
  if (offered.region) offered.port->memory().let_go(offered.region);
  if (offered.buffer && --offered.buffer->users == 0) pool_->give(offered.buffer);
  offered = {};
}

void PortsWire::finish_offer(int peer, uint32_t number) {
  if (number >= offered_.size() || offered_[number].peer != peer)
    return lose(peer, "the peer has taken what was not offered");
  let_go(offered_[number]);
  free_offered_.push_back(number);
  done(way(peer));
}

bool PortsWire::flushed(int peer) {
  if (way(peer).unfinished > 0) progress();
  return way(peer).unfinished == 0;
}

bool PortsWire::flushed() {
  if (unfinished_ > 0) progress();
  return unfinished_ == 0;
}

// --- What has come ----------------------------------------------------------------------------

bool PortsWire::poll(int peer) {
  if (ended_) return false;
  Way& its = way(peer);
  progress();
  if (!its.offers.empty()) begin_offer(peer);
  if (const int64_t now = now_ns(); now - its.looked > kLookEvery) {
    its.looked = now;
    if (!its.open) open(peer);
    control_->look(peer, its.received);
  }
  return std::exchange(its.news, false);
}

void PortsWire::progress() {
  for (const auto& port : ports_)
    for (const OfiCompletion& completion : port->poll()) complete(*port, completion);
  if (waiting_ > 0)
    for (size_t p = 0; p < ways_.size(); ++p) send_waiting(static_cast<int>(p));
  if (!to_read_.empty())
    for (Fetch* each : std::exchange(to_read_, {})) fetch(*each);
}

void PortsWire::complete(OfiPort& port, const OfiCompletion& completion) {
  OfiOperation* operation = completion.operation;
  switch (operation->kind) {
    case OfiOperation::receive:
      if (!completion.received.empty()) take_message(completion.received, port);
      if (completion.error != 0) log::debug("rank {}: a receive buffer: {}", rank_, completion.reason);
      if (!completion.last) break;
      if (Status again = port.receive_again(operation); !again.ok())
        log::warning("rank {}: {}", rank_, again.text());
      break;
    case OfiOperation::send:
      done(way(operation->peer));
      if (completion.error != 0) lose(operation->peer, completion.reason);
      port.give_back(static_cast<OfiMessage*>(operation));
      break;
    case OfiOperation::read:
      fetched(*static_cast<Fetch*>(operation), completion);
      break;
  }
}

void PortsWire::take_message(std::span<const std::byte> bytes, OfiPort& port) {
  OfiHeader header;
  OfiOffer place;
  if (bytes.size() < sizeof header) return;
  memcpy(&header, bytes.data(), sizeof header);
  bytes = bytes.subspan(sizeof header);
  // Of another job, or of a stranger: as if it had not come.
  if (header.communicator != communicator_ || header.from < 0 || header.from == rank_ ||
      header.from >= static_cast<int>(ways_.size()))
    return;
  Way& its = way(header.from);
  if (!its.loss.ok()) return;
  its.heard = true;
  ++its.received;
  bool good = true;
  if (header.kind == OfiHeader::frames) {
    good = take_frames(header.from, bytes, nullptr);
  } else if (bytes.size() >= sizeof place) {
    memcpy(&place, bytes.data(), sizeof place);
    if (header.kind == OfiHeader::taken) return finish_offer(header.from, place.number);
    const auto rail = std::find_if(its.rails.begin(), its.rails.end(),
                                   [&](const Rail& each) { return each.port == &port; });
    Offer offer;
    offer.place = place;
    offer.rail = static_cast<size_t>(rail - its.rails.begin());
    good = header.kind == OfiHeader::offer && rail != its.rails.end() &&
           take_frames(header.from, bytes.subspan(sizeof place), &offer);
  }
  if (!good) lose(header.from, "the peer sent what makes no sense, or there is no memory for it");
}

bool PortsWire::take_frames(int peer, std::span<const std::byte> bytes, const Offer* offer) {
  Way& its = way(peer);
  while (!bytes.empty()) {
    FrameHeader frame;
    if (bytes.size() < sizeof frame) return false;
    memcpy(&frame, bytes.data(), sizeof frame);
    bytes = bytes.subspan(sizeof frame);
    const bool is_message = frame.kind == FrameKind::data || frame.kind == FrameKind::packet;
    if (offer && bytes.size() < frame.bytes) return is_message && take_offer(peer, *offer, frame, bytes);
    if (bytes.size() < frame.bytes) return false;
    const Arriving arriving = sink_->begin(peer, frame);
    if (!arriving.message) return false;
    if (frame.bytes > 0) memcpy(arriving.data, bytes.data(), frame.bytes);
    bytes = bytes.subspan(frame.bytes);
    sink_->arrived(peer, frame, arriving);
    its.news |= is_message;
  }
  return true;
}

bool PortsWire::take_offer(int peer, Offer offer, const FrameHeader& frame,
                           std::span<const std::byte> first) {
  if (first.size() > sizeof offer.first) return false;
  offer.frame = frame;
  offer.num_first = first.size();
  std::copy(first.begin(), first.end(), offer.first);
  if (frame.kind == FrameKind::packet) {
    offer.arriving = sink_->begin(peer, frame);
    if (!offer.arriving.message) return false;
  }
  way(peer).offers.push_back(offer);
  return true;
}

// --- Reading what is offered ------------------------------------------------------------------

// One for each look at the peer: by then its receiver has said where it shall go.
void PortsWire::begin_offer(int peer) {
  Way& its = way(peer);
  if (!its.open && !open(peer)) return;
  if (free_fetches_.empty()) free_fetches_.push_back(fetches_.emplace_back(std::make_unique<Fetch>()).get());
  Fetch& next = *free_fetches_.back();
  next.offer = its.offers.front();
  next.peer = peer;
  next.reads = 0;
  next.failed = false;
  next.region = nullptr;
  its.offers.erase(its.offers.begin());
  Arriving& arriving = next.offer.arriving;
  if (!arriving.message) arriving = sink_->begin(peer, next.offer.frame);
  if (!arriving.message) return lose(peer, "the peer sent what makes no sense, or there is no memory for it");
  memcpy(arriving.data, next.offer.first, next.offer.num_first);
  next.asked = next.offer.num_first;
  OfiMemoryCache& memory = its.rails[next.offer.rail].port->memory();
  if (memory.needs_local()) {
    auto region = memory.hold(arriving.data, next.offer.frame.bytes, arriving.message->buffer);
    if (!region) {
      sink_->broken_off(std::exchange(arriving, {}));
      return lose(peer, region.status().text());
    }
    next.region = region.value();
  }
  free_fetches_.pop_back();
  fetch(next);
}

void PortsWire::fetch(Fetch& fetch) {
  Way& its = way(fetch.peer);
  const Rail& rail = its.rails[fetch.offer.rail];
  void* descriptor = fetch.region ? fetch.region->descriptor() : nullptr;
  while (fetch.asked < fetch.offer.frame.bytes && !fetch.failed) {
    const size_t part = std::min<size_t>(fetch.offer.frame.bytes - fetch.asked, rail.port->longest_read());
    const size_t there = fetch.asked - fetch.offer.num_first;
    const ssize_t code =
        rail.port->read(&fetch, rail.address, {fetch.offer.arriving.data + fetch.asked, part}, descriptor,
                        fetch.offer.place.address + there, fetch.offer.place.key);
    if (code == -FI_EAGAIN) {
      to_read_.push_back(&fetch);
      return;
    }
    if (code != 0) {
      OfiCompletion refused;
      refused.error = static_cast<int>(-code);
      refused.reason = OfiLibrary::load().value()->strerror(refused.error);
      ++fetch.reads;
      fetched(fetch, refused);
      return;
    }
    fetch.asked += part;
    ++fetch.reads;
  }
}

void PortsWire::fetched(Fetch& fetch, const OfiCompletion& completion) {
  --fetch.reads;
  if (completion.error != 0) {
    fetch.failed = true;
    lose(fetch.peer, completion.reason);
  }
  if (fetch.reads > 0 || (fetch.asked < fetch.offer.frame.bytes && !fetch.failed)) return;
  Way& its = way(fetch.peer);
  if (fetch.region) its.rails[fetch.offer.rail].port->memory().let_go(fetch.region);
  const Arriving arriving = std::exchange(fetch.offer.arriving, {});
  free_fetches_.push_back(&fetch);
  if (fetch.failed || !its.loss.ok()) return sink_->broken_off(arriving);
  sink_->arrived(fetch.peer, fetch.offer.frame, arriving);
  its.news = true;
  OfiMessage* taken = new_message(fetch.peer, fetch.offer.rail, OfiHeader::taken);
  if (!taken) return;
  add(*taken, OfiOffer{0, 0, fetch.offer.place.number, 0});
  submit(taken);
}

// --- The end ----------------------------------------------------------------------------------

void PortsWire::lose(int peer, const std::string& reason) {
  Way& its = way(peer);
  if (!its.loss.ok()) return;
  control_->look(peer, its.received);  // it may have said goodbye
  unfinished_ -= std::exchange(its.unfinished, 0);
  its.loss = Status::error(Code::unreachable, "{}", reason);
  for (OfiMessage* message : its.waiting) its.rails[message->rail].port->give_back(message);
  waiting_ -= static_cast<int>(its.waiting.size());
  its.waiting.clear();
  drop_offers(its);
  for (size_t i = 0; i < offered_.size(); ++i) {
    if (offered_[i].peer != peer) continue;
    let_go(offered_[i]);
    free_offered_.push_back(static_cast<uint32_t>(i));
  }
}

void PortsWire::drop_offers(Way& its) {
  for (Offer& each : its.offers)
    if (each.arriving.message) sink_->broken_off(std::exchange(each.arriving, {}));
  its.offers.clear();
}

const Status* PortsWire::loss(int peer) const {
  if (!way(peer).loss.ok()) return &way(peer).loss;
  return control_->loss(peer);
}

std::string PortsWire::describe(int peer) const {
  const Way& its = way(peer);
  const std::string by = its.rails.empty() || ended_ ? "libfabric" : its.rails[0].port->text();
  return fmt::format("{}, {}", control_->describe(peer), by);
}

void PortsWire::end(std::span<const std::byte> last_words) {
  if (ended_) return;
  ended_ = true;
  std::vector<uint32_t> sent;
  for (const Way& each : ways_) sent.push_back(each.sent);
  control_->end(last_words, sent);
  // From here on nobody reads from or writes to memory of others.
  const bool uses_memory =
      std::any_of(offered_.begin(), offered_.end(), [](const Offered& each) { return each.peer >= 0; }) ||
      std::any_of(fetches_.begin(), fetches_.end(),
                  [](const auto& each) { return each->offer.arriving.message != nullptr; });
  for (const auto& port : ports_) port->forget_memory();
  if (!uses_memory) linger(std::move(ports_));
  ports_.clear();
  for (Way& each : ways_) drop_offers(each);
  for (const auto& each : fetches_)
    if (each->offer.arriving.message) sink_->broken_off(std::exchange(each->offer.arriving, {}));
  for (Offered& each : offered_)
    if (each.peer >= 0 && each.buffer && --each.buffer->users == 0) pool_->give(each.buffer);
  unfinished_ = 0;
  for (Way& each : ways_) each.unfinished = 0;
}

}  // namespace

Result<std::unique_ptr<OfiWire>> make_ofi_wire(const OfiOptions& options) {
  auto library = OfiLibrary::load();
  if (!library) return library.take_status();
  close_lingering();
  auto nics = find_ofi_nics(*library.value(), options);
  if (!nics) return nics.take_status();
  log::debug("libfabric {}: {} on {} NICs", library.value()->version_text(), nics.value()->front().provider(),
             nics.value()->size());
  std::vector<std::unique_ptr<OfiPort>> ports;
  for (const OfiNic& nic : *nics.value()) {
    auto port = OfiPort::open(*library.value(), nic);
    if (!port) return port.take_status();
    ports.push_back(std::move(port.value()));
  }
  return std::unique_ptr<OfiWire>(std::make_unique<PortsWire>(std::move(ports)));
}

Result<std::string> describe_ofi() {
  auto library = OfiLibrary::load();
  if (!library) return library.take_status();
  return fmt::format("{}; usable here: {}", library.value()->version_text(),
                     list_ofi_providers(*library.value()));
}

}  // namespace wia
