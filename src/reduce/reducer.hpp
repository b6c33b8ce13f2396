// Element-wise n-ary reduction of host memory: dst[d][i] = src[0][i] op src[1][i] op ...
//
// A Reducer is chosen once per (dtype, op, number of ranks) and then only called: from any thread, without
// allocations or locks. Two element formats occur:
//   raw      the user's dtype, one rank's contribution as it was passed in;
//   partial  the accumulator format, a sum of some contributions on its way.
// For float16, bfloat16 and float8 (sum, prod, avg, premul_sum) a partial is a float32, so that a
// result is rounded once, however many hops it took. For integer avg a partial is an int64 (an
// int128 for 64-bit integers), divided once at the end. For everything else the formats are equal.
//
// Reading a raw element converts it to the accumulator and applies the factor (float avg: 1/ranks,
// so that nothing overflows before a division; premul_sum: the user's factor). Writing a raw element
// rounds to nearest even (a float8_e4m3, which has no infinity, overflows to NaN) or divides by the
// number of ranks and truncates toward zero (integer avg).
//
// Sources are combined strictly in the order given: the result depends on nothing else.
// NaN in any source of min or max gives NaN. Integer sum and prod wrap around. bool holds 0 or 1 and
// stays so (sum, max, bor, lor: or; prod, min, band, land: and; bxor: exclusive or). land and lor of
// integers give 0 or 1. A token can only be summed.
// No alignment is required. Each destination may equal a source of the same format exactly; partial
// overlap is not allowed.
#pragma once
#include <cstddef>

#include "base/status.hpp"
#include "reduce/dtype.hpp"

namespace wia {

struct Source {
  const void* data;
  bool partial;
};

struct ReduceArguments {
  const Source* sources;  // at least 1
  int num_sources;
  void* const* destinations;  // at least 1; all get the same values
  int num_destinations;
  size_t count;         // elements
  bool partial_result;  // destinations are partials
  // So many of the first destinations are written past the caches (non-temporal stores), for results that
  // nobody reads soon. Only a wish: it needs destinations that lie alike within a cache line. All stores are
  // visible to others on return, as always.
  int streaming = 0;
};

class Reducer {
 public:
  // Or why (dtype, op) cannot be reduced, naming both. `ranks`: contributions of a complete result, at
  // least 1. `factor` is that of premul_sum; other ops ignore it.
  static Result<Reducer> make(DType dtype, Op op, int ranks, double factor = 1.0);

  size_t raw_bytes() const { return raw_bytes_; }          // per element
  size_t partial_bytes() const { return partial_bytes_; }  // per element
  void operator()(const ReduceArguments& arguments) const { function_(*this, arguments); }

  double factor() const { return factor_; }  // of each raw element: 1 but for float avg and premul_sum
  int ranks() const { return ranks_; }

 private:
  using Function = void (*)(const Reducer&, const ReduceArguments&);
  Function function_ = nullptr;
  size_t raw_bytes_ = 0, partial_bytes_ = 0;
  double factor_ = 1.0;
  int ranks_ = 1;
};

// Copies `bytes` to every destination, reading the source once. `streaming` as above.
void copy_to_all(void* const* destinations, int num_destinations, const void* source, size_t bytes,
                 bool streaming);

// Conversions of single values, for tests, tools and checks. To a float: rounded once; to an integer:
// truncated and held within its range, NaN as 0; to bool: whether it is not 0.
double to_double(DType type, const void* element);
void from_double(DType type, double value, void* element);

}  // namespace wia
