// The vocabulary of schedules: what one rank does in a collective, one step at a time.
//
// A step names memory in chunks of three buffers. Bytes, dtype and addresses enter only when a schedule
// is bound to a call (engine/binding.hpp), so one schedule serves every size. A step of 0 chunks moves no
// data (a barrier's messages); its references mean nothing then.
#pragma once
#include <cstdint>

namespace wia {

enum class Kind : uint8_t {
  send,         // src -> peer
  recv,         // peer -> dst
  recv_reduce,  // dst = incoming op src          (src and dst may be the same chunk)
  reduce,       // dst = source[0] op source[1] ... in this order; one source: convert or copy
  copy,         // dst = src
  nop,          // only waits
};

enum class Buffer : uint8_t { input, output, scratch };

// A chunk of a buffer. `partial`: its elements are in the accumulator format (reduce/reducer.hpp), as
// sums on their way are; always in scratch. Input and output are never partial.
class Ref {
 public:
  constexpr Ref() = default;
  constexpr Ref(Buffer buffer, uint32_t chunk, bool partial = false)
      : bits_(static_cast<uint32_t>(buffer) << 30 | static_cast<uint32_t>(partial) << 29 | chunk) {}
  constexpr Buffer buffer() const { return static_cast<Buffer>(bits_ >> 30); }
  constexpr bool partial() const { return bits_ >> 29 & 1; }
  constexpr uint32_t chunk() const { return bits_ & kChunkMask; }
  constexpr Ref plus(uint32_t chunks) const { return Ref(buffer(), chunk() + chunks, partial()); }
  constexpr bool operator==(const Ref&) const = default;

 private:
  static constexpr uint32_t kChunkMask = (1u << 29) - 1;
  uint32_t bits_ = 0;
};

constexpr Ref input(uint32_t chunk) { return Ref(Buffer::input, chunk); }
constexpr Ref output(uint32_t chunk) { return Ref(Buffer::output, chunk); }
constexpr Ref scratch(uint32_t chunk) { return Ref(Buffer::scratch, chunk); }        // raw elements
constexpr Ref partial(uint32_t chunk) { return Ref(Buffer::scratch, chunk, true); }  // partial sums

// Fixed size and trivially copyable. Unused fields are zero.
struct Step {
  Kind kind = Kind::nop;
  uint8_t flags = 0;           // see StepFlag
  uint16_t wait_lane = 0;      // with wait_position > 0: the lane waited for
  int32_t peer = -1;           // send, recv, recv_reduce
  Ref src;                     // send, copy, recv_reduce
  Ref dst;                     // recv, recv_reduce, reduce, copy
  Ref extent;                  // input or output chunk whose length this data has; may be one that only the
                               // root has memory for (lengths are known everywhere)
  uint16_t chunks = 1;         // so many consecutive chunks of src, dst and extent
  uint16_t sources = 0;        // reduce: how many; they stand in Schedule::sources from `first_source`
  uint16_t tag = 0;            // tells messages of one pair of ranks apart; equal on both ends
  uint16_t fused = 0;          // set by Schedule::finish(): sends of one group, see there
  uint32_t wait_position = 0;  // number of steps of wait_lane that must be done (same slice)

  uint32_t first_source() const { return src.chunk(); }  // reduce: index into Schedule::sources
};
static_assert(sizeof(Step) == 32);

enum StepFlag : uint8_t {
  // recv: the data stays where it arrived, the next reduce of the lane that names its dst reads it there.
  // Set by Builder::finish().
  kView = 1,
  // recv_reduce: partial sums arrive, not raw contributions. (A recv's dst tells this by itself.)
  kPartialArrives = 2,
  // send: the memory is overwritten later in the schedule without a message that proves that the peer has
  // read it, so
  // the transport must take the data when the step is done. Set by Builder::take().
  kTake = 4,
};

}  // namespace wia
