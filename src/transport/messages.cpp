#include "transport/messages.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace wia {

MessagePool::~MessagePool() {
  for (MessageBuffer* buffer : buffers_) ::operator delete (buffer, std::align_val_t{64});
}

void MessagePool::grow() {
  const auto first = static_cast<uint32_t>(blocks_.size()) * kBlock;
  StoredMessage* block = blocks_.emplace_back(new StoredMessage[kBlock]).get();
  for (uint32_t i = kBlock; i-- > 0;) {
    block[i].index = first + i;
    block[i].next = free_;
    free_ = &block[i];
  }
}

MessageBuffer* MessagePool::take_buffer(size_t bytes) {
  const size_t size = std::bit_ceil(std::max<size_t>(bytes, 256));
  const auto size_class = static_cast<uint32_t>(std::countr_zero(size));
  if (MessageBuffer* buffer = free_buffers_[size_class]) {
    free_buffers_[size_class] = buffer->next;
    return buffer;
  }
  void* memory = ::operator new (MessageBuffer::kHeader + size, std::align_val_t{64}, std::nothrow);
  if (!memory) return nullptr;
  auto* buffer = new (memory) MessageBuffer{0, size_class, nullptr, size};
  buffers_.push_back(buffer);
  return buffer;
}

}  // namespace wia
