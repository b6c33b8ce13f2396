// Messages that have arrived and wait for their receiver: where they lie, and how one is found.
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
struct MessageBuffer {
  uint32_t users = 0;
  uint32_t size_class = 0;
  MessageBuffer* next = nullptr;  // free ones of this size
  size_t allocated = 0;
  std::byte* data() { return reinterpret_cast<std::byte*>(this) + kHeader; }

  static constexpr size_t kHeader = 64;  // data is aligned to a cache line
};

struct alignas(64) StoredMessage {
  enum Way : uint32_t { staged, direct, landed };
  static constexpr size_t kInlineBytes = 40;

  Key key;
  StoredMessage* next;   // of its list, or the next free one
  StoredMessage** back;  // what points here
  const std::byte* data;
  size_t bytes;
  MessageBuffer* buffer;  // null: the data is here, or a rank's own
  uint32_t signature;
  uint32_t index;     // in the pool
  uint32_t position;  // count of the pair's messages before this one
  Way way;
  uint32_t type;  // of a packet
  alignas(8) std::byte inline_data[kInlineBytes];
};

// Memory for messages, of all receivers.
class MessagePool {
 public:
  MessagePool() = default;
  MessagePool(const MessagePool&) = delete;
  MessagePool& operator=(const MessagePool&) = delete;
  ~MessagePool();

  StoredMessage* take() {
    if (!free_) grow();
    StoredMessage* message = free_;
    free_ = message->next;
    message->buffer = nullptr;
    ++in_use_;
    return message;
  }
  void give(StoredMessage* message) {
    if (message->buffer && --message->buffer->users == 0) give(message->buffer);
    message->next = free_;
    free_ = message;
    --in_use_;
  }
  StoredMessage* at(uint32_t index) const { return &blocks_[index / kBlock][index % kBlock]; }
  size_t in_use() const { return in_use_; }

  // Null: no memory.
  MessageBuffer* take_buffer(size_t bytes);
  void give(MessageBuffer* buffer) {
    buffer->next = free_buffers_[buffer->size_class];
    free_buffers_[buffer->size_class] = buffer;
  }

 private:
  static constexpr uint32_t kBlock = 64;
  void grow();

  StoredMessage* free_ = nullptr;
  size_t in_use_ = 0;
  std::vector<std::unique_ptr<StoredMessage[]>> blocks_;
  std::array<MessageBuffer*, 64> free_buffers_{};  // by the logarithm of their size
  std::vector<MessageBuffer*> buffers_;
};

// What has arrived at one receiver, by source. A pair has few messages on their way, so a list finds one.
class ArrivedMessages {
 public:
  explicit ArrivedMessages(int ranks) : lists_(static_cast<size_t>(ranks)) {}
  void insert(int source, StoredMessage* message) {
    ++count_;
    StoredMessage** head = &lists_[source];
    message->next = *head;
    message->back = head;
    if (*head) (*head)->back = &message->next;
    *head = message;
  }
  StoredMessage* find(int source, Key key) const {
    StoredMessage* message = lists_[source];
    while (message && message->key != key) message = message->next;
    return message;
  }
  void remove(StoredMessage* message) {
    --count_;
    *message->back = message->next;
    if (message->next) message->next->back = message->back;
  }
  size_t size() const { return count_; }

 private:
  std::vector<StoredMessage*> lists_;
  size_t count_ = 0;
};

}  // namespace wia
