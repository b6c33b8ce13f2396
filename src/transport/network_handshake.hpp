// How a connection between two ranks begins, byte by byte (docs/formats/frames.md):
//
//   acceptor -> connector   Challenge: a nonce
//   connector -> acceptor   Hello: who calls whom, a nonce, proof of the job's key over both nonces
//   acceptor -> connector   Reply: the answer, proof of the key over the connector's nonce
//
// Nobody without the key gets further than the hello, and a hello that was heard is of no use a second time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/keyed_hash.hpp"

namespace wia {

inline constexpr uint32_t kNetworkMagic = 0x4e414957;  // "WIAN" in the bytes of a little-endian host
inline constexpr uint16_t kNetworkVersion = 1;

struct Challenge {
  uint32_t magic = kNetworkMagic;
  uint16_t version = kNetworkVersion;
  uint16_t unused = 0;
  uint64_t nonce[2] = {};
};
static_assert(sizeof(Challenge) == 24);

struct Hello {
  uint32_t magic = kNetworkMagic;
  uint16_t version = kNetworkVersion;
  uint16_t rail = 0;
  uint64_t communicator = 0;
  int32_t from = 0, to = 0;  // ranks of the communicator
  uint64_t nonce[2] = {};
  char nic[16] = {};  // the caller's interface, for people
  uint64_t proof = 0;
};
static_assert(sizeof(Hello) == 64);

struct Reply {
  enum Answer : uint32_t {
    welcome = 1,
    crossed,     // the acceptor is calling the connector just now: take that connection
    not_here,    // no such rank in this process
    not_proven,  // another job's key
  };
  uint32_t magic = kNetworkMagic;
  Answer answer = not_here;
  uint64_t proof = 0;
};
static_assert(sizeof(Reply) == 16);

// Over what was heard and what answers it.
template <class Heard, class Said>
uint64_t prove(Said said, const Heard& heard, const HashKey& key) {
  said.proof = 0;
  std::byte bytes[sizeof heard + sizeof said];
  std::memcpy(bytes, &heard, sizeof heard);
  std::memcpy(bytes + sizeof heard, &said, sizeof said);
  return KeyedHash(key)(bytes, sizeof bytes);
}

}  // namespace wia
