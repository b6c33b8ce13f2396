#include "simulate/simulated_endpoint.hpp"

namespace wia {
namespace {

enum : int { kScratch = 2, kStaging = 3 };

}  // namespace

std::byte* imaginary_memory(int buffer) {
  return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(buffer + 1) << 59);
}

void SimulatedEndpoint::enter(const CallSignature& call, std::span<const int>, std::byte*, size_t) {
  call_ = call;
}

std::byte* SimulatedEndpoint::stage(std::span<const int>, size_t) { return imaginary_memory(kStaging); }

void SimulatedEndpoint::post(std::span<const int> peers, Key key, size_t bytes) {
  for (const int peer : peers) world_.send(rank_, team_.rank_of(peer), key, call_.hash, bytes);
}

bool SimulatedEndpoint::post_direct(std::span<const int> peers, Key key, const std::byte*, size_t bytes) {
  post(peers, key, bytes);
  return true;
}

bool SimulatedEndpoint::find(int peer, Key key, Message* message, std::span<std::byte> place) {
  const SimulatedMessage* found = world_.find(rank_, team_.rank_of(peer), key);
  if (!found) return false;
  message->data = place.empty() ? imaginary_memory(kStaging) : place.data();
  message->bytes = found->transfer.bytes;
  message->signature = found->signature;
  world_.receive(*found);
  return true;
}

void SimulatedEndpoint::copy(void*, const void*, size_t bytes) { world_.charge_copy(rank_, bytes); }

void SimulatedEndpoint::reduce(const Reducer& reducer, const ReduceArguments& arguments) {
  const size_t element = arguments.partial_result ? reducer.partial_bytes() : reducer.raw_bytes();
  world_.charge_reduction(rank_, arguments.num_sources, arguments.num_destinations,
                          arguments.count * element);
}

std::byte* SimulatedEndpoint::scratch(size_t) { return imaginary_memory(kScratch); }

}  // namespace wia
