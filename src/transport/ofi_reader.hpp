// Long frames that peers offer: kept until the receiver asks for the peer's news, by when it has mostly said
// where they go, then read with fi_read, part by part.
//
// What libfabric writes to is memory of the message pool: the message's own, or a buffer whose bytes are
// copied to the place that the call has named once all are there. Used by one thread; who leaves its seats
// keeps it, and the pool with it, while a read is under way.
#pragma once
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "transport/ofi_message.hpp"
#include "transport/ofi_port.hpp"
#include "transport/wire.hpp"

namespace wia {

// A frame whose bytes lie at the peer, but for the first few.
struct OfiOffered {
  int peer = -1;
  OfiSeat* seat = nullptr;  // where it came
  size_t rail = 0;
  fi_addr_t from = FI_ADDR_UNSPEC;
  OfiOffer place;
  FrameHeader frame;
  std::byte first[Packet::kHeaderBytes];
  size_t num_first = 0;
};

class OfiReader {
 public:
  // What has become of an offer.
  struct Ended {
    OfiOffered offered;
    Arriving arriving;  // broken off unless ok
    Status status;
  };

  OfiReader(size_t peers, FrameSink* sink, std::shared_ptr<MessagePool> pool)
      : sink_(sink), pool_(std::move(pool)), waiting_(peers) {}

  // False: what makes no sense, or there is no memory.
  bool take(const OfiOffered& offered);
  // Begins to read the oldest from the peer, if there is one. Not ok: the peer is lost.
  Status begin(int peer, fi_addr_t from);
  // The oldest offer of the peer; null: there is none.
  const OfiOffered* oldest(int peer) const {
    const auto& waiting = waiting_[static_cast<size_t>(peer)];
    return waiting.empty() ? nullptr : &waiting.front().offered;
  }
  // Goes on where libfabric took nothing: calls ended(Ended) for what fails then.
  template <class Taker>
  void go_on(const Taker& ended) {
    if (refused_.empty()) return;
    for (Reading* each : std::exchange(refused_, {}))
      if (read_on(*each)) ended(finish(*each));
  }
  // A part is there, or will not come. True: nothing of the frame is under way any more, and it is in
  // `ended`.
  bool part_ended(OfiRead* part, const OfiNews& news, std::span<const std::byte> reason, Ended* ended);

  // Offers of the peer that nobody will read: of the frames that had arrived so far nothing is left.
  std::vector<OfiOffered> drop(int peer);
  // The end. unread(offer, read): the offer's memory is its sender's again, once the read has ended if there
  // is one. Nothing is the sink's any more.
  template <class Taker>
  void stop(const Taker& unread) {
    for (size_t peer = 0; peer < waiting_.size(); ++peer)
      for (const OfiOffered& each : drop(static_cast<int>(peer))) unread(each, nullptr);
    for (const auto& each : readings_) {
      if (each->offered.peer < 0) continue;
      break_off(*each);
      unread(each->offered, each.get());
    }
  }

 private:
  struct Waiting {
    OfiOffered offered;
    Arriving arriving;  // a packet's: it has its number when it comes; a message's place is known later
  };
  struct Reading : OfiRead {
    OfiOffered offered;
    Arriving arriving;
    MessageBuffer* buffer = nullptr;  // from which the bytes go to their place; null: they are read there
    OfiRegion* region = nullptr;
    size_t there = 0;  // bytes, and those being read
    Status failure;
    std::byte* to() const { return buffer ? buffer->data() : arriving.data; }
    bool complete() const { return there == offered.frame.bytes; }
  };
  bool read_on(Reading& reading);  // true: it has come to its end
  Ended finish(Reading& reading);
  void break_off(Reading& reading);

  FrameSink* const sink_;
  const std::shared_ptr<MessagePool> pool_;
  std::vector<std::deque<Waiting>> waiting_;  // by peer
  std::vector<std::unique_ptr<Reading>> readings_;
  std::vector<Reading*> free_, refused_;
};

}  // namespace wia
