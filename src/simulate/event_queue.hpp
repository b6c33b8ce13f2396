// Events in the order of their time, those of one time in the order in which they were added. Not thread
// safe.
//
// Millions may be waiting. Those of the next few microseconds are in a heap, which so stays in the caches;
// those later lie unsorted in buckets.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace wia {

struct Event {
  double us;
  uint64_t number;  // the order among equals
  uint32_t kind, subject;
};

class EventQueue {
 public:
  bool empty() const { return near_.empty() && far_.empty(); }

  void add(double us, uint32_t kind, uint32_t subject) {
    const Event event{us, next_++, kind, subject};
    const uint64_t bucket = bucket_of(us);
    if (bucket > bucket_) {
      far_[bucket].push_back(event);
      return;
    }
    near_.push_back(event);
    std::push_heap(near_.begin(), near_.end(), after);
  }

  // Requires that it is not empty.
  Event take() {
    if (near_.empty()) {
      const auto next = far_.begin();
      bucket_ = next->first;
      near_.swap(next->second);
      far_.erase(next);
      std::make_heap(near_.begin(), near_.end(), after);
    }
    std::pop_heap(near_.begin(), near_.end(), after);
    const Event first = near_.back();
    near_.pop_back();
    return first;
  }

 private:
  static constexpr double kBucketsPerMicrosecond = 0.5;
  static uint64_t bucket_of(double us) { return static_cast<uint64_t>(us * kBucketsPerMicrosecond); }
  static bool after(const Event& a, const Event& b) {
    return a.us != b.us ? a.us > b.us : a.number > b.number;
  }

  std::vector<Event> near_;                     // a heap: bucket_ and before
  std::map<uint64_t, std::vector<Event>> far_;  // by bucket
  uint64_t bucket_ = 0, next_ = 0;
};

}  // namespace wia
