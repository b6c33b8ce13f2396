// Integer averages and token sums: accumulators wider than vectors do well, in plain loops over blocks
// small enough for the stack and the L1 cache.
#include <algorithm>
#include <cstring>

#include "reduce/kernels.hpp"

namespace wia {
namespace {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

constexpr size_t kBlock = 256;  // elements

// Sums elements of type T at `address` into `sums`, or starts them. Unaligned, hence memcpy.
template <class T, class Wide>
void add_elements(const void* address, size_t count, bool first, Wide* sums) {
  const auto* bytes = static_cast<const uint8_t*>(address);
  for (size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    sums[i] = static_cast<Wide>((first ? Wide{0} : sums[i]) + static_cast<Wide>(element));
  }
}

template <class Raw, class Wide>
void sum_block(const ReduceArguments& arguments, size_t begin, size_t count, Wide* sums) {
  for (int s = 0; s < arguments.num_sources; ++s) {
    const Source& source = arguments.sources[s];
    const auto* bytes = static_cast<const uint8_t*>(source.data);
    if (source.partial) {
      add_elements<Wide>(bytes + begin * sizeof(Wide), count, s == 0, sums);
    } else {
      add_elements<Raw>(bytes + begin * sizeof(Raw), count, s == 0, sums);
    }
  }
}

void write_block(const ReduceArguments& arguments, size_t begin, size_t count, const void* values,
                 size_t size) {
  for (int d = 0; d < arguments.num_destinations; ++d)
    std::memcpy(static_cast<uint8_t*>(arguments.destinations[d]) + begin * size, values, count * size);
}

int64_t divide(int64_t sum, int ranks) { return sum / ranks; }

// A division of 128 bits is a slow library call; few sums need one.
Int128 divide(Int128 sum, int ranks) {
  const auto low = static_cast<int64_t>(sum);
  return low == sum ? low / ranks : sum / ranks;
}

template <class T, class Wide>
void average(const Reducer& reducer, const ReduceArguments& arguments) {
  for (size_t begin = 0; begin < arguments.count; begin += kBlock) {
    const size_t count = std::min(kBlock, arguments.count - begin);
    Wide sums[kBlock];
    sum_block<T>(arguments, begin, count, sums);
    if (arguments.partial_result) {
      write_block(arguments, begin, count, sums, sizeof(Wide));
      continue;
    }
    T averages[kBlock];
    for (size_t i = 0; i < count; ++i) averages[i] = static_cast<T>(divide(sums[i], reducer.ranks()));
    write_block(arguments, begin, count, averages, sizeof(T));
  }
}

void sum_tokens(const Reducer&, const ReduceArguments& arguments) {
  for (size_t begin = 0; begin < arguments.count; begin += kBlock) {
    const size_t count = std::min(kBlock, arguments.count - begin);
    Uint128 sums[kBlock];
    sum_block<Uint128>(arguments, begin, count, sums);
    write_block(arguments, begin, count, sums, sizeof(Uint128));
  }
}

}  // namespace

Kernel find_integer_average_kernel(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return &average<int8_t, int64_t>;
    case DType::uint8:
      return &average<uint8_t, int64_t>;
    case DType::int16:
      return &average<int16_t, int64_t>;
    case DType::uint16:
      return &average<uint16_t, int64_t>;
    case DType::int32:
      return &average<int32_t, int64_t>;
    case DType::uint32:
      return &average<uint32_t, int64_t>;
    case DType::int64:
      return &average<int64_t, Int128>;
    case DType::uint64:
      return &average<uint64_t, Int128>;
    default:
      return nullptr;
  }
}

Kernel find_token_kernel() { return &sum_tokens; }

}  // namespace wia
