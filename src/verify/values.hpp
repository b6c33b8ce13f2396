// What the ranks put in, and what has to come out: the closed form of every collective.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reduce/dtype.hpp"
#include "schedule/collective.hpp"
#include "verify/case.hpp"

namespace wia {

class Values {
 public:
  using Number = unsigned __int128;

  Values(Collective collective, int ranks, int root, Element element, uint64_t seed)
      : collective_(collective), ranks_(ranks), root_(root), element_(element), seed_(seed) {}

  DType dtype() const { return element_ == Element::token ? DType::token : DType::int32; }
  Op op() const { return element_ == Element::token ? Op::sum : Op::avg; }
  size_t bytes() const { return size_of(dtype()); }

  // Element i of what `rank` has for `chunk` (0 where a buffer is one piece of data).
  Number input(int rank, uint32_t chunk, uint64_t i) const;
  Number output(int rank, uint32_t chunk, uint64_t i) const;
  void store(std::byte* at, Number value) const;
  bool equal(const std::byte* at, Number value) const;
  // Why an output element may be what it is.
  std::string explain(const std::byte* at, int rank, uint32_t chunk, uint64_t i) const;

  static constexpr std::byte kPoison{0xa7};

 private:
  Number sum(uint32_t chunk, uint64_t i) const;
  Number add_up(uint32_t chunk, uint64_t i) const;
  Number load(const std::byte* at) const;

  Collective collective_;
  int ranks_, root_;
  Element element_;
  uint64_t seed_;
  mutable std::vector<Number> sums_;  // of chunk 0, as far as they were asked for
};

}  // namespace wia
