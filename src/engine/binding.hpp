// What turns a schedule into a call: addresses, lengths, element formats, slices.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "reduce/reducer.hpp"
#include "schedule/step.hpp"

namespace wia {

// Where each chunk of a buffer begins and how long it is, in elements. Either an even split of `count`
// elements in whole units (the first chunks get one unit more), or explicit lengths and offsets.
class Extents {
 public:
  Extents() = default;
  // Units keep large chunks aligned: 1 for small buffers.
  static Extents even(uint64_t count, uint32_t chunks, uint64_t unit = 1) {
    Extents e;
    if (chunks == 0) return e;
    const uint64_t units = (count + unit - 1) / unit;
    e.count_ = count;
    e.chunks_ = chunks;
    e.unit_ = unit;
    e.quotient_ = units / chunks;
    e.remainder_ = units % chunks;
    if (e.remainder_ == 0 && e.quotient_ * unit * chunks == count) e.uniform_ = e.quotient_ * unit;
    return e;
  }
  // Arrays of `chunks` numbers that outlive the call; offsets null: one chunk behind the other is
  // then given by the caller as prefix sums.
  static Extents given(const size_t* lengths, const size_t* offsets, uint32_t chunks) {
    Extents e;
    e.chunks_ = chunks;
    e.lengths_ = lengths;
    e.offsets_ = offsets;
    return e;
  }
  uint64_t begin(uint32_t chunk) const {
    if (uniform_) return chunk * uniform_;
    if (lengths_) return offsets_[chunk];
    return std::min(count_, (chunk * quotient_ + std::min<uint64_t>(chunk, remainder_)) * unit_);
  }
  uint64_t length(uint32_t chunk) const {
    if (uniform_) return uniform_;
    if (lengths_) return lengths_[chunk];
    return begin(chunk + 1) - begin(chunk);
  }
  bool contiguous() const { return !lengths_; }
  uint64_t longest() const {
    if (!lengths_) return chunks_ ? length(0) : 0;
    return chunks_ ? *std::max_element(lengths_, lengths_ + chunks_) : 0;
  }
  // Elements from the start of the buffer to the end of its last chunk.
  uint64_t span() const {
    if (!lengths_) return count_;
    uint64_t end = 0;
    for (uint32_t c = 0; c < chunks_; ++c) end = std::max<uint64_t>(end, offsets_[c] + lengths_[c]);
    return end;
  }

 private:
  uint64_t count_ = 0, unit_ = 1, quotient_ = 0, remainder_ = 0;
  uint64_t uniform_ = 0;  // length of every chunk, where they are equal and not empty
  uint32_t chunks_ = 0;
  const size_t* lengths_ = nullptr;
  const size_t* offsets_ = nullptr;
};

constexpr size_t kDirectFrom = 4096;  // bytes; smaller messages are cheaper to copy than to confirm

struct Binding {
  std::byte* input = nullptr;  // null where this rank has none
  std::byte* output = nullptr;
  Extents input_extents, output_extents;
  size_t input_bytes = 0, output_bytes = 0;  // of the whole buffers
  size_t raw_bytes = 1;                      // per element
  const Reducer* reducer = nullptr;          // null: nothing is reduced
  uint64_t slice_elements = 0;               // elements of a chunk in one slice; the same on all ranks
  uint32_t slices = 1;                       // at least 1
  uint32_t window = 1;                       // slices in flight
  int rails = 0;                             // NICs that a pair of ranks uses, at most; 0: all
  size_t direct_from = SIZE_MAX;  // messages of so many bytes are sent without a copy, where they can be
  bool streaming = false;         // results are too large for the caches
  // The two ends may differ on the length of a chunk (all_to_all_v): a chunk of whole slices ends with an
  // empty message, so that no difference goes unnoticed. `slices` has room for it.
  bool marks_ends = false;

  // To be called when the extents stand.
  void measure() {
    input_bytes = input_extents.span() * raw_bytes;
    output_bytes = output_extents.span() * raw_bytes;
  }
  size_t partial_bytes() const { return reducer ? reducer->partial_bytes() : raw_bytes; }
};

}  // namespace wia
