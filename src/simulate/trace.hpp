// What the ranks of a simulation did when, as a timeline.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wia {

enum class Activity : uint8_t { call, send, receive, reduce, copy, wait };
const char* activity_name(Activity activity);

// At most `capacity` activities are kept, the first ones; the others are counted.
class Trace {
 public:
  struct Entry {
    double begin_us, us;
    int rank, peer;  // -1: none
    Activity activity;
    size_t bytes;
  };
  explicit Trace(size_t capacity) : capacity_(capacity) {}

  void add(const Entry& entry) {
    if (entries_.size() < capacity_)
      entries_.push_back(entry);
    else
      ++left_out_;
  }
  const std::vector<Entry>& entries() const { return entries_; }
  uint64_t left_out() const { return left_out_; }
  // Chrome's trace-event format, one row a rank.
  std::string text(const std::string& title) const;

 private:
  size_t capacity_;
  std::vector<Entry> entries_;
  uint64_t left_out_ = 0;
};

}  // namespace wia
