#include "transport/loop_messages.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace wia {

LoopPool::~LoopPool() {
  for (LoopBuffer* buffer : buffers_) ::operator delete (buffer, std::align_val_t{64});
}

void LoopPool::grow() {
  const auto first = static_cast<uint32_t>(blocks_.size()) * kBlock;
  LoopMessage* block = blocks_.emplace_back(new LoopMessage[kBlock]).get();
  for (uint32_t i = kBlock; i-- > 0;) {
    block[i].index = first + i;
    block[i].next = free_;
    free_ = &block[i];
  }
}

LoopBuffer* LoopPool::take_buffer(size_t bytes) {
  const size_t size = std::bit_ceil(std::max<size_t>(bytes, 256));
  const auto size_class = static_cast<uint32_t>(std::countr_zero(size));
  if (LoopBuffer* buffer = free_buffers_[size_class]) {
    free_buffers_[size_class] = buffer->next;
    return buffer;
  }
  void* memory = ::operator new (LoopBuffer::kHeader + size, std::align_val_t{64}, std::nothrow);
  if (!memory) return nullptr;
  auto* buffer = new (memory) LoopBuffer{0, size_class, nullptr, size};
  buffers_.push_back(buffer);
  return buffer;
}

}  // namespace wia
