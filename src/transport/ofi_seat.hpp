// What a communicator has at a port: what has come for it, and the memory of its that libfabric uses.
//
// Who polls the port puts news into the inbox of the seat that they are for, and copies what was received: a
// communicator that nobody looks after holds up no other. What lies there is bounded by what a peer may have
// on its way (FrameEndpoint's credits).
#pragma once
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "transport/ofi_memory_cache.hpp"

namespace wia {

class OfiPort;
class OfiSeat;

// Something that libfabric has under way.
struct OfiOperation {
  enum Kind { receive, send, read };
  fi_context2 context;  // libfabric's own; first
  Kind kind = receive;
  OfiSeat* seat = nullptr;  // whose; of a send or read
};

// A short message on its way out; the port's.
struct OfiMessage : OfiOperation {
  static constexpr size_t kMaxBytes = 16 << 10;
  OfiMessage* next = nullptr;  // of the free ones
  void* descriptor = nullptr;
  fi_addr_t to = FI_ADDR_UNSPEC;
  int peer = -1;
  bool given_up = false;
  size_t bytes = 0;
  alignas(64) std::byte data[kMaxBytes];

  template <class Part>
  void add(const Part& part) {
    add(&part, sizeof part);
  }
  void add(const void* more, size_t count) {
    if (count > 0) std::memcpy(data + bytes, more, count);
    bytes += count;
  }
};

// A read of a peer's memory into memory of the pool.
struct OfiRead : OfiOperation {
  OfiRead() { kind = read; }
  // The port's, under its mutex.
  bool under_way = false;
  OfiMessage* afterwards = nullptr;
};

struct OfiNews {
  enum Kind : uint32_t { message, sent, taken, read };
  Kind kind = message;
  int peer = -1;                    // of `sent` and `taken`
  int error = 0;                    // as errno; the bytes that follow are the reason then
  OfiRead* read_ended = nullptr;    // of `read`
  MessageBuffer* buffer = nullptr;  // of `taken`
  size_t bytes = 0;                 // that follow
};

// One behind the other in memory that is kept, so that nothing is allocated for news.
class OfiInbox {
 public:
  // Any thread.
  void put(OfiNews news, std::span<const std::byte> bytes) {
    news.bytes = bytes.size();
    std::lock_guard lock(mutex_);
    const auto* first = reinterpret_cast<const std::byte*>(&news);
    coming_.insert(coming_.end(), first, first + sizeof news);
    coming_.insert(coming_.end(), bytes.begin(), bytes.end());
    has_news_.store(true, std::memory_order_release);
  }
  // The communicator's thread: taker(news, bytes) for each.
  template <class Taker>
  void take(const Taker& taker) {
    if (!has_news_.load(std::memory_order_acquire)) return;
    {
      std::lock_guard lock(mutex_);
      coming_.swap(being_taken_);
      has_news_.store(false, std::memory_order_relaxed);
    }
    for (size_t at = 0; at < being_taken_.size();) {
      OfiNews news;
      std::memcpy(&news, being_taken_.data() + at, sizeof news);
      at += sizeof news;
      taker(news, std::span<const std::byte>(being_taken_).subspan(at, news.bytes));
      at += news.bytes;
    }
    being_taken_.clear();
    if (being_taken_.capacity() > kMostKept) being_taken_.shrink_to_fit();
  }

 private:
  static constexpr size_t kMostKept = 256 << 10;

  std::atomic<bool> has_news_{false};
  std::mutex mutex_;
  std::vector<std::byte> coming_, being_taken_;
};

class OfiSeat {
 public:
  OfiSeat(OfiPort& at, uint32_t its_number, uint64_t its_communicator, OfiDomain& domain)
      : port(at),
        number(its_number),
        communicator(its_communicator),
        memory(std::in_place, domain, kMostRegistered) {}

  OfiPort& port;
  const uint32_t number;  // no other one of this port's had it before
  const uint64_t communicator;
  OfiInbox inbox;

 private:
  friend class OfiPort;
  static constexpr size_t kMostRegistered = 256 << 20;  // bytes that stay registered

  // Below: the port's, under its mutex.
  bool left = false;
  Deadline kept_until = Deadline::never();  // once left
  int sends = 0, reads = 0, offers = 0;     // under way
  int given_up = 0;                         // of sends and offers: nobody waits for them
  std::shared_ptr<const void> belongings;   // once left: what reads and offers use
  std::optional<OfiMemoryCache> memory;     // registrations of the belongings: they go first
};

}  // namespace wia
