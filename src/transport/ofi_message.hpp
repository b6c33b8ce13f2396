// What travels between two libfabric endpoints, byte by byte (docs/formats/frames.md): a header, then frames.
// Of a long frame only its header travels; its bytes are read from where the offer says, and `taken` tells
// that this is done.
#pragma once
#include <cstdint>

namespace wia {

struct OfiHeader {
  enum Kind : uint32_t { frames = 1, offer, taken };
  uint64_t communicator = 0;  // secret; a message with another one is thrown away
  uint32_t seat = 0;          // the receiver's at its endpoint, which processes share
  int32_t from = 0;           // rank
  Kind kind = frames;
  uint32_t unused = 0;
};
static_assert(sizeof(OfiHeader) == 24);

// Behind the header of an offer: where the last frame's bytes lie.
struct OfiOffer {
  uint64_t address = 0, key = 0;
  uint32_t number = 0;  // of the offer, chosen by its sender; alone in `taken`
  uint32_t unused = 0;
};
static_assert(sizeof(OfiOffer) == 24);

}  // namespace wia
