#include "transport/ofi_reader.hpp"

#include <string.h>

#include <algorithm>

namespace wia {
namespace {

constexpr const char* kNonsense = "the peer sent what makes no sense, or there is no memory for it";

}  // namespace

bool OfiReader::take(const OfiOffered& offered) {
  Waiting waiting{offered, {}};
  if (offered.frame.kind == FrameKind::packet) {
    waiting.arriving = sink_->begin(offered.peer, offered.frame);
    if (!waiting.arriving.message) return false;
  }
  waiting_[static_cast<size_t>(offered.peer)].push_back(waiting);
  return true;
}

Status OfiReader::begin(int peer, fi_addr_t from) {
  auto& waiting = waiting_[static_cast<size_t>(peer)];
  if (waiting.empty()) return {};
  if (free_.empty()) free_.push_back(readings_.emplace_back(std::make_unique<Reading>()).get());
  Reading& reading = *free_.back();
  reading.offered = waiting.front().offered;
  reading.offered.from = from;
  reading.arriving = waiting.front().arriving;
  waiting.pop_front();
  const FrameHeader& frame = reading.offered.frame;
  if (!reading.arriving.message) reading.arriving = sink_->begin(peer, frame);
  StoredMessage* message = reading.arriving.message;
  if (!message) return {Code::unreachable, kNonsense};
  free_.pop_back();
  // A user's memory is not libfabric's to write to.
  reading.buffer = message->buffer ? nullptr : pool_->take_buffer(frame.bytes);
  reading.there = reading.offered.num_first;
  reading.failure = {};
  MessageBuffer* into = message->buffer ? message->buffer : reading.buffer;
  OfiSeat& seat = *reading.offered.seat;
  Result<OfiRegion*> region = into ? seat.port.hold(seat, into) : Status(Code::unreachable, kNonsense);
  if (!region) {
    reading.failure = region.take_status();
    return finish(reading).status;
  }
  reading.region = region.value();
  memcpy(reading.to(), reading.offered.first, reading.offered.num_first);
  return read_on(reading) ? finish(reading).status : Status();
}

// A part at a time: each operation has a context of libfabric's that only it may use.
bool OfiReader::read_on(Reading& reading) {
  const OfiOffered& offered = reading.offered;
  OfiPort& port = offered.seat->port;
  const size_t part = std::min<size_t>(offered.frame.bytes - reading.there, port.longest_read());
  const size_t behind = reading.there - offered.num_first;
  const ssize_t code = port.read(*offered.seat, &reading, offered.from, {reading.to() + reading.there, part},
                                 reading.region, offered.place.address + behind, offered.place.key);
  if (code == -FI_EAGAIN) {
    refused_.push_back(&reading);
    return false;
  }
  if (code != 0) {
    reading.failure =
        Status::error(Code::unreachable, "{} ({})",
                      OfiLibrary::load().value()->strerror(static_cast<int>(-code)), port.text());
    return true;
  }
  reading.there += part;
  return false;
}

bool OfiReader::part_ended(OfiRead* part, const OfiNews& news, std::span<const std::byte> reason,
                           Ended* ended) {
  Reading& reading = *static_cast<Reading*>(part);
  if (news.error != 0)
    reading.failure =
        Status(Code::unreachable, std::string(reinterpret_cast<const char*>(reason.data()), reason.size()));
  else if (!reading.complete() && !read_on(reading))
    return false;
  *ended = finish(reading);
  return true;
}

OfiReader::Ended OfiReader::finish(Reading& reading) {
  Ended ended{reading.offered, std::exchange(reading.arriving, {}), std::move(reading.failure)};
  OfiSeat& seat = *reading.offered.seat;
  if (reading.region) seat.port.let_go(seat, std::exchange(reading.region, nullptr));
  if (reading.buffer) {
    if (ended.status.ok() && ended.arriving.message)
      memcpy(ended.arriving.data, reading.buffer->data(), ended.offered.frame.bytes);
    pool_->give(std::exchange(reading.buffer, nullptr));
  }
  if (!ended.status.ok() && ended.arriving.message) sink_->broken_off(std::exchange(ended.arriving, {}));
  reading.offered.peer = -1;
  free_.push_back(&reading);
  return ended;
}

// Its message's buffer stays out of the pool: it may still be written to.
void OfiReader::break_off(Reading& reading) {
  const Arriving arriving = std::exchange(reading.arriving, {});
  if (!arriving.message) return;
  if (arriving.message->buffer) ++arriving.message->buffer->users;
  sink_->broken_off(arriving);
}

std::vector<OfiOffered> OfiReader::drop(int peer) {
  std::vector<OfiOffered> dropped;
  for (Waiting& each : std::exchange(waiting_[static_cast<size_t>(peer)], {})) {
    if (each.arriving.message) sink_->broken_off(each.arriving);
    dropped.push_back(each.offered);
  }
  return dropped;
}

}  // namespace wia
