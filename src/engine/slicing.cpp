#include "engine/slicing.hpp"

#include <algorithm>

namespace wia {
namespace {

constexpr size_t kAlignedFrom = 4096;  // chunks of so many bytes begin on a cache line
constexpr size_t kSmallestSlice = size_t{16} << 10;
constexpr size_t kLargestWindow = 8;

size_t in_lines(size_t bytes) { return bytes / 64 * 64; }

}  // namespace

void set_even_chunks(Collective collective, uint64_t count, int ranks, const Schedule& schedule,
                     Binding* binding) {
  const Extents own = Extents::even(count, 1),
                blocks = Extents::even(count * static_cast<uint64_t>(ranks), static_cast<uint32_t>(ranks));
  switch (collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::broadcast: {
      const uint32_t chunks = schedule.output_chunks();
      const size_t bytes = chunks ? count * binding->raw_bytes / chunks : 0;
      const uint64_t unit = bytes >= kAlignedFrom ? std::max<size_t>(64 / binding->raw_bytes, 1) : 1;
      binding->input_extents = binding->output_extents = Extents::even(count, chunks, unit);
      break;
    }
    case Collective::all_gather:
    case Collective::gather:
      binding->input_extents = own, binding->output_extents = blocks;
      break;
    case Collective::reduce_scatter:
    case Collective::scatter:
      binding->input_extents = blocks, binding->output_extents = own;
      break;
    case Collective::all_to_all:
      binding->input_extents = binding->output_extents = blocks;
      break;
    case Collective::barrier:
      break;
  }
}

void set_slices(const Schedule& schedule, const SliceLimits& limits, Binding* binding) {
  const uint64_t longest = std::max(binding->input_extents.longest(), binding->output_extents.longest());
  const size_t element = std::max(binding->raw_bytes, binding->partial_bytes());
  const uint32_t chunks = std::max({schedule.input_chunks(), schedule.output_chunks(), 1u});
  // All that one slice stages fits four times, and one message of all chunks fits at all.
  const size_t staging = limits.staging_bytes;
  const size_t most =
      std::min({limits.slice_bytes, in_lines(staging / 4 / (static_cast<size_t>(limits.ranks) + 2)),
                in_lines(staging / 4 / chunks)});
  size_t bytes = most;
  if (!binding->marks_ends)
    bytes = std::clamp(in_lines(longest * element / 4), std::min(kSmallestSlice, most), most);
  const uint64_t elements = std::max<uint64_t>(bytes / element, 1);
  const uint64_t all = longest + (binding->marks_ends ? 1 : 0);
  binding->slices = all <= elements ? 1 : static_cast<uint32_t>((all + elements - 1) / elements);
  binding->slice_elements = binding->slices == 1 ? longest : elements;
  // Staging is given back in order: if it could not hold all slices in flight, lanes that are ahead would
  // keep the others from ever sending. Three blocks more: what is lost where the ring wraps.
  const size_t block = binding->slice_elements * element + 64;
  const size_t one = std::max<size_t>(schedule.staged_chunks(), 1) * block,
               spare = 3 * schedule.max_message_chunks() * block;
  const size_t fitting = staging > spare ? (staging - spare) / one : 1;
  binding->window = static_cast<uint32_t>(
      std::clamp<size_t>(fitting, 1, std::min<size_t>(binding->slices, kLargestWindow)));
}

}  // namespace wia
