#include "transport/ofi_port.hpp"

#include <poll.h>
#include <string.h>

#include <algorithm>

#include "base/log.hpp"
#include "transport/network.hpp"

namespace wia {
namespace {

// For peers to read what was offered to them before their communicator's other end was left.
constexpr int64_t kKeptMs = 60'000;

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16)));
  return bytes;
}

// The ports of this process. Not closed when it ends: libfabric may have ended before.
struct Ports {
  std::mutex mutex;
  std::map<std::pair<const OfiNic*, bool>, std::unique_ptr<OfiPort>> by_nic;  // NICs stay, too
};
Ports& ports() {
  static auto& all = *new Ports;
  return all;
}

}  // namespace

// --- Opening ----------------------------------------------------------------------------------

Result<OfiPort*> OfiPort::on(const OfiLibrary& library, const OfiNic& nic, bool wake_sleepers) {
  Ports& all = ports();
  std::lock_guard lock(all.mutex);
  std::unique_ptr<OfiPort>& port = all.by_nic[{&nic, wake_sleepers}];
  if (!port) {
    std::unique_ptr<OfiPort> made(new OfiPort(library));
    made->wakes_sleepers_ = wake_sleepers;
    WIA_RETURN_IF_ERROR(made->open(nic));
    port = std::move(made);
  }
  return port.get();
}

Status OfiPort::open(const OfiNic& nic) {
  text_ = fmt::format("{} on {}", nic.provider(), nic.name());
  std::lock_guard lock(mutex_);
  WIA_RETURN_IF_ERROR(open_objects(*nic.info));
  return post_receives();
}

Status OfiPort::open_objects(fi_info& info) {
  const auto failed = [&](const char* what, ssize_t code) {
    return library_.error(fmt::format("{} of {} cannot be opened", what, text_), code);
  };
  fid_fabric* fabric = nullptr;
  if (const int code = library_.fabric(info.fabric_attr, &fabric, nullptr)) return failed("the fabric", code);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int code = fi_domain(fabric, &info, &domain, nullptr)) return failed("the domain", code);
  domain_object_.reset(domain);
  fi_av_attr of_addresses = {};
  of_addresses.type = FI_AV_TABLE;
  fid_av* addresses = nullptr;
  if (const int code = fi_av_open(domain, &of_addresses, &addresses, nullptr))
    return failed("the address table", code);
  addresses_.reset(addresses);
  const size_t entries = info.tx_attr->size + info.rx_attr->size;
  wakes_sleepers_ = wakes_sleepers_ && open_queue(entries, true).ok();
  if (!wakes_sleepers_) WIA_RETURN_IF_ERROR(open_queue(entries, false));
  fid_ep* endpoint = nullptr;
  int code = fi_endpoint(domain, &info, &endpoint, nullptr);
  if (code != 0) return failed("the endpoint", code);
  endpoint_.reset(endpoint);
  if ((code = fi_ep_bind(endpoint, &addresses->fid, 0)) ||
      (code = fi_ep_bind(endpoint, &completions_->fid, FI_TRANSMIT | FI_RECV)) ||
      (code = fi_enable(endpoint)))
    return failed("the endpoint", code);
  longest_read_ = std::min<size_t>(info.ep_attr->max_msg_size, size_t{1} << 30);
  domain_.domain = domain;
  domain_.endpoint = endpoint;
  domain_.mode = static_cast<uint64_t>(info.domain_attr->mr_mode);
  own_memory_ = std::make_unique<OfiMemoryCache>(domain_, 0);
  return {};
}

Status OfiPort::open_queue(size_t entries, bool with_descriptor) {
  fi_cq_attr attributes = {};
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.size = entries;
  attributes.wait_obj = with_descriptor ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* queue = nullptr;
  int code = fi_cq_open(domain_object_.get(), &attributes, &queue, nullptr);
  if (code != 0)
    return library_.error(fmt::format("the completion queue of {} cannot be opened", text_), code);
  Fid<fid_cq> opened(queue);
  if (with_descriptor) {
    int descriptor = -1;
    code = fi_control(&queue->fid, FI_GETWAIT, &descriptor);
    auto network = Network::instance();
    if (code != 0 || !network || !network.value()->watch(descriptor))
      return Status(Code::unsupported, "nothing to wait for");
  }
  completions_ = std::move(opened);
  return {};
}

Status OfiPort::post_receives() {
  size_t least = OfiMessage::kMaxBytes;
  const int code = fi_setopt(&endpoint_->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least);
  if (code != 0) return library_.error(text_ + ": multi-receive buffers", code);
  constexpr size_t kBytes = kReceiveBuffers * ReceiveBuffer::kBytes;
  receive_memory_ = std::make_unique_for_overwrite<std::byte[]>(kBytes);
  void* descriptor = nullptr;
  if (domain_.needs_local()) {
    auto region = own_memory_->hold(receive_memory_.get(), kBytes, nullptr);
    if (!region) return region.take_status();
    descriptor = region.value()->descriptor();
  }
  receives_.resize(kReceiveBuffers);
  for (size_t i = 0; i < kReceiveBuffers; ++i) {
    receives_[i].data = receive_memory_.get() + i * ReceiveBuffer::kBytes;
    receives_[i].descriptor = descriptor;
    WIA_RETURN_IF_ERROR(receive_again(receives_[i]));
  }
  return {};
}

Status OfiPort::receive_again(ReceiveBuffer& buffer) {
  iovec memory{buffer.data, ReceiveBuffer::kBytes};
  fi_msg message = {};
  message.msg_iov = &memory;
  message.desc = &buffer.descriptor;
  message.iov_count = 1;
  message.addr = FI_ADDR_UNSPEC;
  message.context = &buffer.context;
  const ssize_t code = fi_recvmsg(endpoint_.get(), &message, FI_MULTI_RECV);
  return code == 0 ? Status() : library_.error(text_ + ": a receive buffer is refused", code);
}

// --- Peers and seats --------------------------------------------------------------------------

std::string OfiPort::name() const {
  std::byte bytes[512];
  size_t size = sizeof bytes;
  if (fi_getname(&endpoint_->fid, bytes, &size) != 0) return {};
  return to_hex({bytes, size});
}

Result<fi_addr_t> OfiPort::find_peer(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (const auto known = peers_.find(name); known != peers_.end()) return known->second;
  const std::vector<std::byte> bytes = from_hex(name);
  fi_addr_t address = FI_ADDR_UNSPEC;
  if (fi_av_insert(addresses_.get(), bytes.data(), 1, &address, 0, nullptr) != 1)
    return Status::error(Code::unreachable, "{}: the peer's address {} is refused", text_, name);
  return peers_[name] = address;
}

OfiSeat* OfiPort::take_seat(uint64_t communicator) {
  std::lock_guard lock(mutex_);
  const uint32_t number = ++last_number_;
  auto& seat = seats_[number];
  seat = std::make_unique<OfiSeat>(*this, number, communicator, domain_);
  return seat.get();
}

void OfiPort::leave(OfiSeat* seat, std::shared_ptr<const void> belongings) {
  std::lock_guard lock(mutex_);
  seat->left = true;
  seat->kept_until = Deadline::after_ms(kKeptMs);
  seat->belongings = std::move(belongings);
  left_.push_back(seat);
  clear_seats();
}

// Those that are left and of which nothing is under way any more.
void OfiPort::clear_seats() {
  std::erase_if(left_, [this](OfiSeat* seat) {
    if (seat->offers > 0 && seat->kept_until.passed()) {
      for (Offered& each : offered_)
        if (each.seat == seat) end_offer(each);
    }
    if (seat->reads + seat->offers == 0) {
      seat->memory.reset();
      seat->belongings.reset();
    }
    if (seat->sends + seat->reads + seat->offers > 0) return false;
    seats_.erase(seat->number);
    return true;
  });
}

std::vector<OfiPort*> OfiPort::all() {
  std::vector<OfiPort*> list;
  std::lock_guard lock(ports().mutex);
  for (const auto& [nic, port] : ports().by_nic)
    if (port) list.push_back(port.get());
  return list;
}

bool OfiPort::settle(Deadline deadline) {
  const std::vector<OfiPort*> every = all();
  const auto settled = [](OfiPort* port) {
    port->poll(nullptr);
    std::lock_guard lock(port->mutex_);
    return std::all_of(port->left_.begin(), port->left_.end(),
                       [](const OfiSeat* seat) { return seat->sends + seat->offers == seat->given_up; });
  };
  while (!std::all_of(every.begin(), every.end(), settled)) {
    if (deadline.passed()) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

// --- Sending ----------------------------------------------------------------------------------

bool OfiPort::add_messages() {
  std::unique_ptr<OfiMessage[]> more(new (std::nothrow) OfiMessage[kMessages]);
  if (!more) return false;
  void* descriptor = nullptr;
  if (domain_.needs_local()) {
    auto region = own_memory_->hold(reinterpret_cast<const std::byte*>(more.get()),
                                    kMessages * sizeof(OfiMessage), nullptr);
    if (!region) return false;
    descriptor = region.value()->descriptor();
  }
  for (OfiMessage& message : std::span(more.get(), kMessages)) {
    message.kind = OfiOperation::send;
    message.descriptor = descriptor;
    message.next = std::exchange(free_, &message);
  }
  messages_.push_back(std::move(more));
  return true;
}

OfiMessage* OfiPort::take_message(OfiSeat& seat) {
  std::lock_guard lock(mutex_);
  if (!free_ && !add_messages()) return nullptr;
  OfiMessage* message = std::exchange(free_, free_->next);
  message->seat = &seat;
  message->bytes = 0;
  message->given_up = false;
  ++seat.sends;
  return message;
}

void OfiPort::send(OfiMessage* message, bool awaited) {
  std::lock_guard lock(mutex_);
  message->given_up = !awaited;
  message->seat->given_up += !awaited;
  submit(message);
}

// In order: what waits goes first.
void OfiPort::submit(OfiMessage* message) {
  auto line = waiting_.find(message->to);
  if (line == waiting_.end()) {
    const ssize_t code = fi_send(endpoint_.get(), message->data, message->bytes, message->descriptor,
                                 message->to, &message->context);
    if (code == 0) return;
    if (code != -FI_EAGAIN) return finish_send(message, static_cast<int>(-code));
    line = waiting_.try_emplace(message->to).first;
  }
  line->second.push_back(message);
}

void OfiPort::send_waiting() {
  for (auto line = waiting_.begin(); line != waiting_.end();) {
    std::deque<OfiMessage*>& messages = line->second;
    while (!messages.empty()) {
      OfiMessage* message = messages.front();
      const ssize_t code = fi_send(endpoint_.get(), message->data, message->bytes, message->descriptor,
                                   message->to, &message->context);
      if (code == -FI_EAGAIN) break;
      messages.pop_front();
      if (code != 0) finish_send(message, static_cast<int>(-code));
    }
    line = messages.empty() ? waiting_.erase(line) : std::next(line);
  }
}

void OfiPort::drop(OfiMessage* message) {
  std::lock_guard lock(mutex_);
  give_back(message);
}

void OfiPort::finish_send(OfiMessage* message, int error) {
  tell(*message->seat, {.kind = OfiNews::sent, .peer = message->peer, .error = error});
  give_back(message);
}

void OfiPort::give_back(OfiMessage* message) {
  OfiSeat& seat = *std::exchange(message->seat, nullptr);
  --seat.sends;
  seat.given_up -= message->given_up;
  message->next = std::exchange(free_, message);
}

void OfiPort::give_up(OfiSeat& seat, int peer) {
  std::lock_guard lock(mutex_);
  const auto is_its = [&](const auto& each) { return each.seat == &seat && each.peer == peer; };
  const auto mark = [&](auto& each) {
    if (is_its(each)) seat.given_up += !std::exchange(each.given_up, true);
  };
  for (auto& [to, line] : waiting_)
    std::erase_if(line,
                  [&](OfiMessage* message) { return is_its(*message) && (finish_send(message, 0), true); });
  for (const auto& some : messages_)
    for (OfiMessage& each : std::span(some.get(), kMessages)) mark(each);
  for (Offered& each : offered_) mark(each);
}

// --- Long frames ------------------------------------------------------------------------------

Result<OfiOffer> OfiPort::offer(OfiSeat& seat, int peer, MessageBuffer* buffer) {
  std::lock_guard lock(mutex_);
  auto region = seat.memory->hold(buffer->data(), buffer->allocated, buffer);
  if (!region) return region.take_status();
  if (free_offered_.empty()) {
    free_offered_.push_back(static_cast<uint32_t>(offered_.size()));
    offered_.emplace_back();
  }
  const uint32_t number = free_offered_.back();
  free_offered_.pop_back();
  offered_[number] = {&seat, peer, region.value(), buffer, false};
  ++seat.offers;
  return OfiOffer{seat.memory->remote_address(*region.value(), buffer->data()),
                  fi_mr_key(region.value()->registration.get()), number, 0};
}

void OfiPort::end_offer(Offered& offered) {
  offered.seat->memory->let_go(offered.region);
  --offered.seat->offers;
  offered.seat->given_up -= offered.given_up;
  free_offered_.push_back(static_cast<uint32_t>(&offered - offered_.data()));
  offered = {};
}

void OfiPort::take_back(uint32_t number, const OfiHeader& header) {
  if (number >= offered_.size()) return;
  Offered& offered = offered_[number];
  OfiSeat* seat = offered.seat;
  if (!seat || seat->number != header.seat || offered.peer != header.from) return;
  tell(*seat, {.kind = OfiNews::taken, .peer = offered.peer, .buffer = offered.buffer});
  end_offer(offered);
}

Result<OfiRegion*> OfiPort::hold(OfiSeat& seat, MessageBuffer* buffer) {
  if (!domain_.needs_local()) return static_cast<OfiRegion*>(nullptr);
  std::lock_guard lock(mutex_);
  return seat.memory->hold(buffer->data(), buffer->allocated, buffer);
}

void OfiPort::let_go(OfiSeat& seat, OfiRegion* region) {
  if (!region) return;
  std::lock_guard lock(mutex_);
  seat.memory->let_go(region);
}

ssize_t OfiPort::read(OfiSeat& seat, OfiRead* operation, fi_addr_t from, std::span<std::byte> to,
                      const OfiRegion* region, uint64_t address, uint64_t key) {
  std::lock_guard lock(mutex_);
  operation->seat = &seat;
  const ssize_t code = fi_read(endpoint_.get(), to.data(), to.size(), region ? region->descriptor() : nullptr,
                               from, address, key, &operation->context);
  if (code != 0) return code;
  operation->under_way = true;
  ++seat.reads;
  return 0;
}

void OfiPort::send_after(OfiRead* read, OfiMessage* message, bool awaited) {
  std::lock_guard lock(mutex_);
  message->given_up = !awaited;
  message->seat->given_up += !awaited;
  if (read->under_way)
    read->afterwards = message;
  else
    submit(message);
}

// --- What has come ----------------------------------------------------------------------------

void OfiPort::poll(const OfiSeat* own) {
  {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    polling_ = own;
    others_have_news_ = false;
    take_completions();
    if (!waiting_.empty()) send_waiting();
    if (!left_.empty()) clear_seats();
    if (!others_have_news_) return;
  }
  if (Network* network = Network::existing()) network->ring();
}

void OfiPort::arm_all(Doorbell& bell) {
  for (OfiPort* port : all())
    if (!port->may_sleep()) bell.ring();
}

bool OfiPort::may_sleep() {
  std::lock_guard lock(mutex_);
  fid* queue = &completions_->fid;
  return !wakes_sleepers_ || fi_trywait(fabric_.get(), &queue, 1) == FI_SUCCESS;
}

void OfiPort::take_completions() {
  fi_cq_data_entry entries[kAtOnce];
  const ssize_t count = fi_cq_read(completions_.get(), entries, kAtOnce);
  if (count == -FI_EAVAIL) return take_error();
  for (ssize_t i = 0; i < count; ++i) {
    const fi_cq_data_entry& entry = entries[i];
    complete(static_cast<OfiOperation*>(entry.op_context),
             {static_cast<const std::byte*>(entry.buf), entry.flags & FI_RECV ? entry.len : 0},
             entry.flags & FI_MULTI_RECV, 0);
  }
}

void OfiPort::take_error() {
  fi_cq_err_entry entry = {};
  if (fi_cq_readerr(completions_.get(), &entry, 0) <= 0 || !entry.op_context) return;
  complete(static_cast<OfiOperation*>(entry.op_context), {}, entry.flags & FI_MULTI_RECV, entry.err);
}

void OfiPort::complete(OfiOperation* operation, std::span<const std::byte> received, bool last, int error) {
  switch (operation->kind) {
    case OfiOperation::receive:
      if (error != 0) log::debug("a receive buffer: {}", reason_of(error));
      if (!received.empty()) route(received);
      if (!last) break;
      if (Status again = receive_again(*static_cast<ReceiveBuffer*>(operation)); !again.ok())
        log::warning("{}", again.text());
      break;
    case OfiOperation::send:
      finish_send(static_cast<OfiMessage*>(operation), error);
      break;
    case OfiOperation::read: {
      auto* read = static_cast<OfiRead*>(operation);
      OfiSeat& seat = *read->seat;
      read->under_way = false;
      --seat.reads;
      if (read->afterwards) submit(std::exchange(read->afterwards, nullptr));
      tell(seat, {.kind = OfiNews::read, .error = error, .read_ended = read});
      break;
    }
  }
}

// To whom it is addressed. Of another job, of a stranger, for one that has left: as if it had not come.
void OfiPort::route(std::span<const std::byte> message) {
  OfiHeader header;
  if (message.size() < sizeof header) return;
  memcpy(&header, message.data(), sizeof header);
  const auto found = seats_.find(header.seat);
  if (found == seats_.end() || found->second->communicator != header.communicator) return;
  if (header.kind == OfiHeader::taken) {
    OfiOffer taken;
    if (message.size() < sizeof header + sizeof taken) return;
    memcpy(&taken, message.data() + sizeof header, sizeof taken);
    take_back(taken.number, header);
  } else {
    tell(*found->second, {.kind = OfiNews::message}, message);
  }
}

void OfiPort::tell(OfiSeat& seat, OfiNews news, std::span<const std::byte> bytes) {
  if (seat.left) return;
  if (news.error != 0) {
    const std::string reason = reason_of(news.error);
    seat.inbox.put(news, std::as_bytes(std::span(reason)));
  } else {
    seat.inbox.put(news, bytes);
  }
  others_have_news_ |= &seat != polling_;
}

std::string OfiPort::reason_of(int error) const {
  return fmt::format("{} ({})", library_.strerror(error), text_);
}

}  // namespace wia
