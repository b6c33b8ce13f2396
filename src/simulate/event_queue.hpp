// Events in the order of their time, those of one time in the order in which they were added. Not thread safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wia {

struct Event {
  double us;
  uint64_t number;  // of the event: the order among equals
  uint32_t kind, subject;
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }

  void add(double us, uint32_t kind, uint32_t subject) {
    size_t at = heap_.size();
    heap_.emplace_back();
    const Event event{us, next_++, kind, subject};
    while (at > 0) {
      const size_t parent = (at - 1) / kArity;
      if (!before(event, heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = event;
  }

  // Requires that it is not empty.
  Event take() {
    const Event first = heap_[0], last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return first;
    const size_t size = heap_.size();
    size_t at = 0;
    for (;;) {
      const size_t begin = at * kArity + 1, end = begin + kArity < size ? begin + kArity : size;
      if (begin >= size) break;
      size_t least = begin;
      for (size_t child = begin + 1; child < end; ++child)
        if (before(heap_[child], heap_[least])) least = child;
      if (!before(heap_[least], last)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = last;
    return first;
  }

 private:
  static constexpr size_t kArity = 4;  // children lie in one or two cache lines
  static bool before(const Event& a, const Event& b) {
    return a.us != b.us ? a.us < b.us : a.number < b.number;
  }

  std::vector<Event> heap_;
  uint64_t next_ = 0;
};

}  // namespace wia
