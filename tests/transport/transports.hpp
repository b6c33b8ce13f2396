// The transports that transport_test.cpp is run on: all ranks in this process, one thread. A new transport
// joins transports().
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/faulty_endpoint.hpp"
#include "transport/loop.hpp"
#include "transport/network_group.hpp"
#include "transport/shm_group.hpp"

namespace wia {

class LoopTransportGroup final : public TransportGroup {
 public:
  explicit LoopTransportGroup(int ranks) : group_(ranks, {.direct = true, .landing = true}) {}
  Endpoint& at(int rank) override { return group_.endpoint(rank); }
  std::byte* memory(size_t bytes) override {
    return memory_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }

 private:
  LoopGroup group_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

// Another group's ranks, each with faults.
class FaultyTransportGroup final : public TransportGroup {
 public:
  FaultyTransportGroup(std::unique_ptr<TransportGroup> inner, int ranks, const Faults& faults)
      : inner_(std::move(inner)) {
    for (int r = 0; r < ranks; ++r)
      endpoints_.push_back(std::make_unique<FaultyEndpoint>(
          inner_->at(r), Faults{faults.not_now, faults.hidden, faults.seed + static_cast<uint64_t>(r)}));
  }
  FaultyEndpoint& at(int rank) override { return *endpoints_[static_cast<size_t>(rank)]; }
  std::byte* memory(size_t bytes) override { return inner_->memory(bytes); }

 private:
  const std::unique_ptr<TransportGroup> inner_;
  std::vector<std::unique_ptr<FaultyEndpoint>> endpoints_;
};

struct Transport {
  std::string name;
  bool shares_memory;  // what was sent or entered is there at once, and direct messages are read in place
  std::function<std::unique_ptr<TransportGroup>(int ranks)> make;
};

inline void PrintTo(const Transport& transport, std::ostream* out) { *out << transport.name; }

inline Transport over_network(const std::string& name, int nodes,
                              NetworkTransportGroup::MakeWires make_wires) {
  return {name, false, [=](int ranks) {
            return std::make_unique<NetworkTransportGroup>(ranks, nodes > 0 ? nodes : ranks, make_wires);
          }};
}

inline std::vector<Transport> transports() {
  std::vector<Transport> all = {
      {"loop", true, [](int ranks) { return std::make_unique<LoopTransportGroup>(ranks); }},
      {"shm", true, [](int ranks) { return std::make_unique<ShmTransportGroup>(ranks); }},
      over_network("tcp", 0, make_tcp_wires),
      over_network("mixed", 2, make_tcp_wires)};
  if (describe_ofi()) all.push_back(over_network("ofi", 0, make_ofi_wires));
  return all;
}

// Every transport as it is, and with faults that change nothing for those who come back.
inline std::vector<Transport> with_and_without_faults() {
  std::vector<Transport> all = transports();
  for (const Transport& plain : transports())
    all.push_back(
        {plain.name + "_with_faults", plain.shares_memory, [plain](int ranks) {
           return std::make_unique<FaultyTransportGroup>(plain.make(ranks), ranks, Faults{0.3, 0.3, 17});
         }});
  return all;
}

inline CallSignature call_number(uint64_t sequence, uint32_t hash = 7) {
  CallSignature call;
  call.sequence = sequence;
  call.hash = hash;
  return call;
}

// What arrived, as text.
inline std::string text_of(const Message& message) {
  return message.data ? std::string(reinterpret_cast<const char*>(message.data), message.bytes) : "nothing";
}

// False: not now.
inline bool send(Endpoint& from, const std::vector<int>& to, Key key, const std::string& text) {
  std::byte* place = from.stage(to, text.size());
  if (!place) return false;
  std::memcpy(place, text.data(), text.size());
  from.post(to, key, text.size());
  return true;
}

inline Message find(Endpoint& at, int from, Key key) {
  Message message;
  at.find(from, key, &message);
  return message;
}

// Finds and releases.
inline std::string receive(Endpoint& at, int from, Key key) {
  const Message message = find(at, from, key);
  std::string text = text_of(message);
  if (message.data) at.release(from, message);
  return text;
}

inline const std::string kLong(1000, 'x');  // too long to travel beside its key

// The ranks of a group, all in call 1.
class RanksTest : public testing::TestWithParam<Transport> {
 protected:
  void use(std::unique_ptr<TransportGroup> group, int ranks) {
    group_ = std::move(group);
    ranks_ = ranks;
    for (int r = 0; r < ranks; ++r) at(r).enter(call_number(1), {}, nullptr, 0);
  }
  Endpoint& at(int rank) { return group_->at(rank); }

  // What is there at once where memory is shared takes a while over a network, and all ranks have to look.
  template <class Condition>
  bool eventually(const Condition& condition) {
    for (const Deadline deadline = Deadline::after_ms(10'000); !condition(); all_look())
      if (deadline.passed()) return false;
    return true;
  }
  void all_look() {
    for (int r = 0; r < ranks_; ++r) {
      at(r).check(false, {});
      at(r).drained();
      for (int peer = 0; peer < ranks_; ++peer)
        if (peer != r) at(r).entered(peer);
    }
  }

  std::unique_ptr<TransportGroup> group_;
  int ranks_ = 0;
};

}  // namespace wia
