// Messages by receiver, sender and key: from the moment when their arrival is known until they are received.
//
// Open addressing; memory for messages in flight only. Not thread safe.
#pragma once
#include <cstdint>
#include <vector>

#include "transport/endpoint.hpp"

namespace wia {

struct MessageName {
  uint64_t ranks = 0;  // receiver, sender
  uint64_t place = 0;  // operation, slice, tag
  static MessageName of(int receiver, int sender, Key key) {
    return {uint64_t{static_cast<uint32_t>(receiver)} << 32 | static_cast<uint32_t>(sender),
            (uint64_t{key.operation} << 56 | uint64_t{key.slice} << 32) ^ key.tag};
  }
  bool operator==(const MessageName&) const = default;
};

class MessageTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  size_t size() const { return size_; }
  void insert(const MessageName& name, uint32_t message) {
    if (4 * (size_ + 1) > 3 * slots_.size()) grow();
    place(name, message);
    ++size_;
  }
  uint32_t find(const MessageName& name) const {
    if (size_ == 0) return kNone;
    for (size_t at = home(name);; at = next(at)) {
      if (slots_[at].message == kNone) return kNone;
      if (slots_[at].name == name) return slots_[at].message;
    }
  }
  // Requires that it is there.
  void remove(const MessageName& name) {
    size_t hole = home(name);
    while (slots_[hole].name != name) hole = next(hole);
    // What stands behind moves up, unless that would be before its home.
    for (size_t at = next(hole); slots_[at].message != kNone; at = next(at)) {
      if (((at - home(slots_[at].name)) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].message = kNone;
    slots_[hole].name = {};
    --size_;
  }

 private:
  struct Slot {
    MessageName name;
    uint32_t message = kNone;
  };
  size_t mask() const { return slots_.size() - 1; }
  size_t next(size_t at) const { return (at + 1) & mask(); }
  size_t home(const MessageName& name) const {
    uint64_t hash = (name.ranks ^ (name.place * 0x9e3779b97f4a7c15)) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
    return static_cast<size_t>(hash * 0xc4ceb9fe1a85ec53 >> 20) & mask();
  }
  void place(const MessageName& name, uint32_t message) {
    size_t at = home(name);
    while (slots_[at].message != kNone) at = next(at);
    slots_[at] = {name, message};
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 1024 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.message != kNone) place(slot.name, slot.message);
  }

  std::vector<Slot> slots_;  // a power of two
  size_t size_ = 0;
};

}  // namespace wia
