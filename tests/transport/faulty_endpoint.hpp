// An endpoint that has everything happen that an endpoint may do: "not now", though it could; messages that
// arrive late; memory that is scarce; peers that are cut off. A seed gives the same faults again.
//
// Around any other endpoint; see endpoint.hpp for the interface.
#pragma once
#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "transport/endpoint.hpp"

namespace wia {

struct Faults {
  double not_now = 0;  // of the calls that send
  double hidden = 0;   // of the looks for what has arrived
  uint64_t seed = 1;
};

class FaultyEndpoint final : public Endpoint {
 public:
  FaultyEndpoint(std::unique_ptr<Endpoint> inner, const Faults& faults) : FaultyEndpoint(*inner, faults) {
    owned_ = std::move(inner);
  }
  FaultyEndpoint(Endpoint& inner, const Faults& faults)
      : Endpoint(inner.rank(), inner.size()), inner_(inner), faults_(faults), random_(faults.seed) {}

  // From now on nothing goes to the peer or comes from it, and check() says so.
  void cut(int peer) { cut_.insert(peer); }
  // From now on no message longer than this can be staged.
  void limit_staging(size_t bytes) { staging_limit_ = bytes; }
  // How often a fault was put in.
  size_t faults_made() const { return faults_made_; }

  void enter(const CallSignature& call, std::span<const int> to_tell, std::byte* output,
             size_t output_bytes) override {
    inner_.enter(call, to_tell, output, output_bytes);
  }
  void leave() override { inner_.leave(); }
  Entered entered(int peer) override { return is_cut(peer) ? Entered::no : inner_.entered(peer); }

  size_t max_staged() const override { return inner_.max_staged(); }
  std::byte* stage(std::span<const int> peers, size_t bytes) override {
    if (is_any_cut(peers) || bytes > staging_limit_ || happens(faults_.not_now)) return nullptr;
    return inner_.stage(peers, bytes);
  }
  void post(std::span<const int> peers, Key key, size_t bytes) override { inner_.post(peers, key, bytes); }
  bool can_send_direct(std::span<const int> peers, const std::byte* data, size_t bytes) const override {
    return inner_.can_send_direct(peers, data, bytes);
  }
  bool post_direct(std::span<const int> peers, Key key, const std::byte* data, size_t bytes) override {
    return !is_any_cut(peers) && !happens(faults_.not_now) && inner_.post_direct(peers, key, data, bytes);
  }
  std::byte* landing(int peer) const override { return inner_.landing(peer); }
  // Never refused here: whoever asked can_post() may rely on its answer.
  bool post_landed(int peer, Key key, const std::byte* data, size_t bytes) override {
    return inner_.post_landed(peer, key, data, bytes);
  }
  bool can_post(int peer) override {
    return !is_cut(peer) && !happens(faults_.not_now) && inner_.can_post(peer);
  }
  bool drained() override { return inner_.drained(); }

  bool find(int peer, Key key, Message* message, std::span<std::byte> place) override {
    return !is_cut(peer) && !happens(faults_.hidden) && inner_.find(peer, key, message, place);
  }
  void release(int peer, const Message& message) override { inner_.release(peer, message); }

  size_t max_packet_data() const override { return inner_.max_packet_data(); }
  bool push(int peer, uint8_t type, const void* header, size_t header_bytes, const std::byte* data,
            size_t bytes) override {
    return !is_cut(peer) && !happens(faults_.not_now) &&
           inner_.push(peer, type, header, header_bytes, data, bytes);
  }
  bool flushed(int peer) override { return is_cut(peer) || inner_.flushed(peer); }
  bool peek(int peer, Packet* packet) override {
    return !is_cut(peer) && !happens(faults_.hidden) && inner_.peek(peer, packet);
  }
  void pop(int peer) override { inner_.pop(peer); }
  bool carries_transfers(int peer) const override { return inner_.carries_transfers(peer); }
  int64_t locate(int peer, const std::byte* data, size_t bytes) const override {
    return inner_.locate(peer, data, bytes);
  }
  std::byte* resolve(int peer, int64_t location) const override { return inner_.resolve(peer, location); }

  std::optional<Trouble> check(bool collective, std::span<const int> partners) override {
    for (const int peer : cut_)
      if (collective || std::find(partners.begin(), partners.end(), peer) != partners.end())
        return Trouble{Trouble::dead, peer, {}, Code::peer_failed, "it was cut off"};
    auto trouble = inner_.check(collective, partners);
    return trouble && is_cut(trouble->peer) ? std::nullopt : trouble;
  }
  void announce_failure(Code code, const std::string& text) override { inner_.announce_failure(code, text); }
  CallSignature last_call(int peer) const override { return inner_.last_call(peer); }
  bool knows_calls(int peer) const override { return !is_cut(peer) && inner_.knows_calls(peer); }
  std::string describe_peer(int peer) const override { return inner_.describe_peer(peer); }
  size_t shared_bytes() const override { return inner_.shared_bytes(); }

 private:
  bool is_cut(int peer) const { return cut_.contains(peer); }
  bool is_any_cut(std::span<const int> peers) const {
    return std::any_of(peers.begin(), peers.end(), [this](int peer) { return is_cut(peer); });
  }
  bool happens(double chance) {
    const bool yes = std::bernoulli_distribution(chance)(random_);
    faults_made_ += yes;
    return yes;
  }

  std::unique_ptr<Endpoint> owned_;
  Endpoint& inner_;
  const Faults faults_;
  std::mt19937_64 random_;
  std::set<int> cut_;
  size_t staging_limit_ = SIZE_MAX;
  size_t faults_made_ = 0;
};

}  // namespace wia
