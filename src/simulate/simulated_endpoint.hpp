// A rank's end of the simulated network, and its memory: nothing is there but time.
//
// Buffers are addresses that nobody reads or writes; every transfer is direct, so that sends of buffers cost
// no copy. A stage of a call is run by teams of ranks that count themselves from 0. Not thread safe.
#pragma once
#include "engine/data_mover.hpp"
#include "simulate/simulated_world.hpp"
#include "transport/endpoint.hpp"

namespace wia {

// The ranks first, first + stride, ...
struct RankTeam {
  int first = 0, stride = 1, size = 1;
  int rank_of(int member) const { return first + member * stride; }
};

// No such address can be mapped: a mistaken access ends the program.
std::byte* imaginary_memory(int buffer);

class SimulatedEndpoint final : public Endpoint, public DataMover {
 public:
  SimulatedEndpoint(SimulatedWorld& world, const RankTeam& team, int member)
      : Endpoint(member, team.size), world_(world), team_(team), rank_(team.rank_of(member)) {}

  void enter(const CallSignature& call, std::span<const int> to_tell, std::byte* output,
             size_t output_bytes) override;
  void leave() override {}
  Entered entered(int) override { return Entered::same; }  // all begin at once
  size_t max_staged() const override { return size_t{1} << 60; }
  std::byte* stage(std::span<const int> peers, size_t bytes) override;
  void post(std::span<const int> peers, Key key, size_t bytes) override;
  bool can_send_direct(std::span<const int>, const std::byte*, size_t) const override { return true; }
  bool post_direct(std::span<const int> peers, Key key, const std::byte* data, size_t bytes) override;
  std::byte* landing(int) const override { return nullptr; }
  bool post_landed(int, Key, const std::byte*, size_t) override { return false; }
  bool can_post(int) override { return true; }
  bool drained() override { return world_.all_arrived(rank_); }
  using Endpoint::find;
  bool find(int peer, Key key, Message* message, std::span<std::byte> place) override;
  void release(int, const Message&) override {}  // gone when it was found

  // Collectives need none of this.
  size_t max_packet_data() const override { return 0; }
  bool push(int, uint8_t, const void*, size_t, const std::byte*, size_t) override { return false; }
  bool flushed(int) override { return true; }
  bool peek(int, Packet*) override { return false; }
  void pop(int) override {}
  bool carries_transfers(int) const override { return false; }
  int64_t locate(int, const std::byte*, size_t) const override { return -1; }
  std::byte* resolve(int, int64_t) const override { return nullptr; }
  std::optional<Trouble> check(bool, std::span<const int>) override { return std::nullopt; }
  void announce_failure(Code, const std::string&) override {}
  CallSignature last_call(int) const override { return call_; }
  bool knows_calls(int) const override { return true; }
  std::string describe_peer(int) const override { return "simulated"; }
  size_t shared_bytes() const override { return 0; }

  void copy(void* to, const void* from, size_t bytes) override;
  void reduce(const Reducer& reducer, const ReduceArguments& arguments) override;
  std::byte* scratch(size_t bytes) override;

 private:
  SimulatedWorld& world_;
  const RankTeam& team_;
  const int rank_;  // in the world
  CallSignature call_;
};

}  // namespace wia
