// Messages of the in-process transport on their way: where they lie, and how a receiver finds one.
//
// Memory is needed for messages in flight only, and kept for the next ones. Used by one thread.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/endpoint.hpp"

namespace wia {

// Data of a message that does not fit beside its key; shared by the messages of a group.
struct LoopBuffer {
  uint32_t users = 0;
  uint32_t size_class = 0;
  LoopBuffer* next = nullptr;  // free ones of this size
  size_t allocated = 0;
  std::byte* data() { return reinterpret_cast<std::byte*>(this) + kHeader; }

  static constexpr size_t kHeader = 64;  // data is aligned to a cache line
};

struct alignas(64) LoopMessage {
  enum Way : uint32_t { staged, direct, landed };
  static constexpr size_t kInlineBytes = 40;

  Key key;
  LoopMessage* next;   // of its list, or the next free one
  LoopMessage** back;  // what points here
  const std::byte* data;
  size_t bytes;
  LoopBuffer* buffer;  // null: the data is here, or a rank's own
  uint32_t signature;
  uint32_t index;     // in the pool
  uint32_t position;  // count of the pair's messages before this one
  Way way;
  uint32_t type;  // of a packet
  alignas(8) std::byte inline_data[kInlineBytes];
};

// Memory for messages, of all receivers.
class LoopPool {
 public:
  LoopPool() = default;
  LoopPool(const LoopPool&) = delete;
  LoopPool& operator=(const LoopPool&) = delete;
  ~LoopPool();

  LoopMessage* take() {
    if (!free_) grow();
    LoopMessage* message = free_;
    free_ = message->next;
    message->buffer = nullptr;
    ++in_use_;
    return message;
  }
  void give(LoopMessage* message) {
    if (message->buffer && --message->buffer->users == 0) give(message->buffer);
    message->next = free_;
    free_ = message;
    --in_use_;
  }
  LoopMessage* at(uint32_t index) const { return &blocks_[index / kBlock][index % kBlock]; }
  size_t in_use() const { return in_use_; }

  // Null: no memory.
  LoopBuffer* take_buffer(size_t bytes);
  void give(LoopBuffer* buffer) {
    buffer->next = free_buffers_[buffer->size_class];
    free_buffers_[buffer->size_class] = buffer;
  }

 private:
  static constexpr uint32_t kBlock = 64;
  void grow();

  LoopMessage* free_ = nullptr;
  size_t in_use_ = 0;
  std::vector<std::unique_ptr<LoopMessage[]>> blocks_;
  std::array<LoopBuffer*, 64> free_buffers_{};  // by the logarithm of their size
  std::vector<LoopBuffer*> buffers_;
};

// What has arrived at one receiver, by source. A pair has few messages on their way, so a list finds one.
class LoopArrivals {
 public:
  explicit LoopArrivals(int ranks) : lists_(static_cast<size_t>(ranks)) {}
  void insert(int source, LoopMessage* message) {
    ++count_;
    LoopMessage** head = &lists_[source];
    message->next = *head;
    message->back = head;
    if (*head) (*head)->back = &message->next;
    *head = message;
  }
  LoopMessage* find(int source, Key key) const {
    LoopMessage* message = lists_[source];
    while (message && message->key != key) message = message->next;
    return message;
  }
  void remove(LoopMessage* message) {
    --count_;
    *message->back = message->next;
    if (message->next) message->next->back = message->back;
  }
  size_t size() const { return count_; }

 private:
  std::vector<LoopMessage*> lists_;
  size_t count_ = 0;
};

}  // namespace wia
