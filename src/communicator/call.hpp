// A collective call as the user made it: arguments, their checks, their signature, their description.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "dispatch/tactic.hpp"
#include "reduce/dtype.hpp"
#include "schedule/collective.hpp"
#include "transport/endpoint.hpp"

namespace wia {

struct Call {
  Collective collective = Collective::barrier;
  const void* send = nullptr;
  void* recv = nullptr;  // broadcast: the buffer
  size_t count = 0;      // elements; see wia.h for each collective. With counts: unused
  DType dtype = DType::uint8;
  Op op = Op::sum;
  int root = 0;
  double factor = 1.0;  // Op::premul_sum
  // The v-variants: one entry a rank. Offsets null: one behind the other.
  const size_t* counts = nullptr;
  const size_t* offsets = nullptr;
  const size_t* recv_counts = nullptr;  // all_to_all_v: counts and offsets are those sent
  const size_t* recv_offsets = nullptr;
};

// Everything that can be wrong with the arguments of this rank alone. Names argument, value and legal range.
Status check(const Call& call, int rank, int ranks);

// Whether a legal in-place form is used; check() has refused all other overlap.
bool in_place(const Call& call, int rank, int ranks);

// Elements of the send and receive buffers of this rank.
size_t send_elements(const Call& call, int rank, int ranks);
size_t recv_elements(const Call& call, int rank, int ranks);
// As design.md counts the bytes of a call: what algorithm choice goes by. The same on all ranks.
size_t call_bytes(const Call& call, int ranks);

// In CallSignature::algorithm, beside the row of the table: its levels were named.
constexpr uint8_t kNamedLevels = 0x80;

// Everything but the sequence number, which resign() sets, with the hash that goes with it.
CallSignature sign(const Call& call, const Tactic& tactic, int ranks);
void resign(uint64_t sequence, CallSignature* signature);
// "call 17: all_reduce of 1000 float32, sum, algorithm two_phase"
std::string describe(const CallSignature& signature);

}  // namespace wia
