// The buffers of all ranks of one run: filled, bound, and compared with the closed form afterwards.
//
// Everything that is not an input is poisoned first: outputs, the gaps between chunks of uneven buffers, and
// the space around every buffer. check() then looks at every byte. Not thread safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "engine/binding.hpp"
#include "verify/case.hpp"
#include "verify/values.hpp"

namespace wia {

class CaseData {
 public:
  // `chunks`: what the algorithm divides buffers into that it may split as it likes
  // (Schedule::output_chunks).
  CaseData(const Case& a_case, const Variant& variant, uint32_t chunks);
  CaseData(const CaseData&) = delete;
  CaseData& operator=(const CaseData&) = delete;

  // Refers to this object.
  const Binding& binding(int rank) const { return bindings_[static_cast<size_t>(rank)]; }
  // Results are right, inputs as they were, and nothing else was written; else what is wrong where. Only
  // once.
  Status check();

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Rank {
    Shape shape;
    Extents input_extents, output_extents;
    // Places in memory_; kNone: it has no such buffer.
    size_t begin = 0, input = kNone, output = kNone;
  };
  // Part of a buffer whose elements count from 0.
  struct Part {
    uint32_t chunk;
    uint64_t begin, length;
  };

  void set_lengths();
  void set_extents(Rank& rank, uint32_t chunks);
  size_t place(Rank& rank, size_t begin) const;
  void fill();
  Binding bind(const Rank& rank) const;
  std::byte* at(size_t place) const { return place == kNone ? nullptr : memory_.get() + place; }
  Part part(const Extents& extents, uint32_t parts, uint32_t chunk) const;
  bool overlaps(const Rank& rank, uint32_t chunk) const;
  Status check_part(const Rank& rank, bool output, const Part& part);
  Status check_poison() const;

  const Case& case_;
  const Variant& variant_;
  const uint32_t ranks_;
  const Values values_;
  const Reducer reducer_;
  // Of uneven buffers: by chunk; all_to_all: by rank and chunk, `back` those of the outputs.
  std::vector<size_t> lengths_, offsets_, back_lengths_, back_offsets_;
  uint64_t longest_ = 0;
  uint32_t input_parts_, output_parts_;
  std::vector<Rank> all_;
  std::vector<Binding> bindings_;
  size_t bytes_ = 0;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace wia
