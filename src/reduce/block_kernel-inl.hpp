// The one loop of all vector kernels. For each Highway target.
//
// Words: a Format says how elements lie in memory and become lanes of an accumulator vector; a
// Combine (combine-inl.hpp) makes one accumulator of two; a block is a few vectors of elements. For each
// block the loop loads from each source in turn, combines in registers, and stores to all destinations, so
// that n sources cost n reads and nothing is written twice.
//
// A Format has
//   V, kLanes                    an accumulator vector, and how many elements it holds
//   kBlockVectors                vectors in a block: enough independent work to hide latencies
//   kRawBytes, kPartialBytes     of one element
//   kSame                        raw and partial elements are read and written alike
//   Format(const Reducer&)
//   load<partial>(address) -> V, store<partial>(V, address), stream<partial>(V, address)
//   combine<Combine>(V, V) -> V
// Addresses need no alignment, except for stream.
#if defined(WIA_REDUCE_BLOCK_KERNEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WIA_REDUCE_BLOCK_KERNEL_INL
#undef WIA_REDUCE_BLOCK_KERNEL_INL
#else
#define WIA_REDUCE_BLOCK_KERNEL_INL
#endif

#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "reduce/reducer.hpp"

HWY_BEFORE_NAMESPACE();
namespace wia {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements that are their own accumulators.
template <class T>
struct Plain {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr size_t kLanes = hn::MaxLanes(D());
  static constexpr size_t kBlockVectors = 4;
  static constexpr size_t kRawBytes = sizeof(T), kPartialBytes = sizeof(T);
  static constexpr bool kSame = true;

  explicit Plain(const Reducer&) {}
  template <bool kPartial>
  HWY_INLINE V load(const uint8_t* address) const {
    return hn::LoadU(D(), reinterpret_cast<const T*>(address));
  }
  template <bool kPartial>
  HWY_INLINE void store(V value, uint8_t* address) const {
    hn::StoreU(value, D(), reinterpret_cast<T*>(address));
  }
  template <bool kPartial>
  HWY_INLINE void stream(V value, uint8_t* address) const {
    hn::Stream(value, D(), reinterpret_cast<T*>(address));
  }
  template <class Combine>
  static HWY_INLINE V combine(V a, V b) {
    return Combine::apply(a, b);
  }
};

template <class Format, class Combine>
class BlockKernel {
 public:
  static void run(const Reducer& reducer, const ReduceArguments& arguments) {
    const BlockKernel kernel(reducer, arguments);
    size_t begin = 0;
    int streaming = arguments.streaming;
    if (streaming > 0) {
      begin = kernel.elements_before_cache_line();
      if (!kernel.can_stream_from(begin)) begin = 0, streaming = 0;
    }
    if (begin > 0) kernel.reduce(0, begin, 0);
    kernel.reduce(begin, arguments.count, streaming);
    if (streaming > 0) hwy::FlushStream();
  }

 private:
  using V = typename Format::V;
  static constexpr size_t kLanes = Format::kLanes;
  static constexpr size_t kVectors = Format::kBlockVectors;
  static constexpr size_t kCacheLine = 64;

  template <bool kPartial>
  static constexpr size_t kBytes = kPartial ? Format::kPartialBytes : Format::kRawBytes;

  struct Few {  // room for one vector of either kind of elements
    alignas(64) uint8_t bytes[kLanes * (kBytes<true> > kBytes<false> ? kBytes<true> : kBytes<false>)];
  };

  BlockKernel(const Reducer& reducer, const ReduceArguments& arguments)
      : format_(reducer), arguments_(arguments) {}

  size_t result_bytes() const { return arguments_.partial_result ? kBytes<true> : kBytes<false>; }

  // Elements until the first destination is at the start of a cache line; all if it never is.
  size_t elements_before_cache_line() const {
    const auto address = reinterpret_cast<uintptr_t>(arguments_.destinations[0]);
    const size_t bytes = (kCacheLine - address % kCacheLine) % kCacheLine;
    const size_t elements = bytes / result_bytes();
    return bytes % result_bytes() == 0 && elements < arguments_.count ? elements : arguments_.count;
  }

  bool can_stream_from(size_t begin) const {
    const size_t bytes = kLanes * result_bytes();
    if (bytes < HWY_STREAM_MULTIPLE || begin == arguments_.count) return false;
    for (int d = 0; d < arguments_.streaming; ++d)
      if ((reinterpret_cast<uintptr_t>(arguments_.destinations[d]) + begin * result_bytes()) % bytes != 0)
        return false;
    return true;
  }

  HWY_NOINLINE void reduce(size_t begin, size_t end, int streaming) const {
    size_t i = begin;
    for (; i + kVectors * kLanes <= end; i += kVectors * kLanes) reduce_vectors<kVectors>(i, streaming);
    for (; i + kLanes <= end; i += kLanes) reduce_vectors<1>(i, streaming);
    if (i < end) reduce_few(i, end - i);
  }

  template <size_t kCount>
  HWY_INLINE void reduce_vectors(size_t i, int streaming) const {
    V result[kCount];
    load<kCount>(arguments_.sources[0], i, result);
    for (int s = 1; s < arguments_.num_sources; ++s) {
      V next[kCount];
      load<kCount>(arguments_.sources[s], i, next);
      for (size_t v = 0; v < kCount; ++v) result[v] = Format::template combine<Combine>(result[v], next[v]);
    }
    for (int d = 0; d < arguments_.num_destinations; ++d) {
      auto* address = static_cast<uint8_t*>(arguments_.destinations[d]);
      if (Format::kSame || !arguments_.partial_result) {
        store<kCount, false>(result, address + i * kBytes<false>, d < streaming);
      } else {
        store<kCount, true>(result, address + i * kBytes<true>, d < streaming);
      }
    }
  }

  // Less than a vector: the same operations on a copy, so that a value does not depend on its place.
  void reduce_few(size_t i, size_t count) const {
    Few few = {};
    V result = load_few(arguments_.sources[0], i, count, few);
    for (int s = 1; s < arguments_.num_sources; ++s)
      result = Format::template combine<Combine>(result, load_few(arguments_.sources[s], i, count, few));
    if (arguments_.partial_result) {
      format_.template store<true>(result, few.bytes);
    } else {
      format_.template store<false>(result, few.bytes);
    }
    const size_t bytes = result_bytes();
    for (int d = 0; d < arguments_.num_destinations; ++d)
      std::memcpy(static_cast<uint8_t*>(arguments_.destinations[d]) + i * bytes, few.bytes, count * bytes);
  }

  HWY_INLINE V load_few(const Source& source, size_t i, size_t count, Few& few) const {
    const size_t bytes = source.partial ? kBytes<true> : kBytes<false>;
    std::memcpy(few.bytes, static_cast<const uint8_t*>(source.data) + i * bytes, count * bytes);
    return source.partial ? format_.template load<true>(few.bytes) : format_.template load<false>(few.bytes);
  }

  template <size_t kCount>
  HWY_INLINE void load(const Source& source, size_t i, V* values) const {
    const auto* address = static_cast<const uint8_t*>(source.data);
    if (Format::kSame || !source.partial) {
      address += i * kBytes<false>;
      for (size_t v = 0; v < kCount; ++v)
        values[v] = format_.template load<false>(address + v * kLanes * kBytes<false>);
    } else {
      address += i * kBytes<true>;
      for (size_t v = 0; v < kCount; ++v)
        values[v] = format_.template load<true>(address + v * kLanes * kBytes<true>);
    }
  }

  template <size_t kCount, bool kPartial>
  HWY_INLINE void store(const V* values, uint8_t* address, bool streaming) const {
    if (streaming) {
      for (size_t v = 0; v < kCount; ++v)
        format_.template stream<kPartial>(values[v], address + v * kLanes * kBytes<kPartial>);
    } else {
      for (size_t v = 0; v < kCount; ++v)
        format_.template store<kPartial>(values[v], address + v * kLanes * kBytes<kPartial>);
    }
  }

  const Format format_;
  const ReduceArguments& arguments_;
};

}  // namespace HWY_NAMESPACE
}  // namespace wia
HWY_AFTER_NAMESPACE();
#endif
