// What travels between two ranks of a network: frames, each a header and bytes. docs/formats/frames.md has
// them byte by byte. All ranks of a job have the same byte order; a connection checks it first.
#pragma once
#include <cstdint>

#include "transport/endpoint.hpp"

namespace wia {

enum class FrameKind : uint8_t {
  call = 1,  // the sender has entered a call; bytes: its CallSignature
  data,      // a message of a collective; bytes: the message
  packet,    // bytes: the packet's header, then its data
  credit,    // nothing but the two counters
  failure,   // the sender's communicator is lost; signature: the code; bytes: the reason
  goodbye    // the sender has left the communicator
};

struct FrameHeader {
  uint32_t bytes = 0;  // that follow
  FrameKind kind = FrameKind::credit;
  uint8_t type = 0;  // of a packet
  uint16_t unused = 0;
  Key key;                 // of a message
  uint32_t signature = 0;  // of the sender's call; Code of a failure
  // Of what the receiver of this frame has sent: messages and packets that were released so far.
  uint32_t messages_taken = 0, packets_taken = 0;
};
static_assert(sizeof(FrameHeader) == 32);

// A pair has so many messages (and as many packets) on their way in one direction: what a receiver must keep
// at most.
inline constexpr uint32_t kFrameCapacity = 32;
// A receiver that says nothing anyway tells after so many what it has released.
inline constexpr uint32_t kTellAfter = kFrameCapacity / 4;
inline constexpr size_t kMaxFailureText = 4000;

}  // namespace wia
