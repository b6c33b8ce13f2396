// The endpoint of a communicator whose ranks are on several nodes: those of the own node by one endpoint
// (shared memory, this rank among them), all others by another (a network). See endpoint.hpp for the
// interface.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "transport/endpoint.hpp"

namespace wia {

class MixedEndpoint final : public Endpoint {
 public:
  // `local_ranks`: the ranks that `local` reaches, in the order in which it numbers them. `remote` numbers
  // all ranks as they are.
  MixedEndpoint(int rank, int size, std::unique_ptr<Endpoint> local, const std::vector<int>& local_ranks,
                std::unique_ptr<Endpoint> remote);

  void enter(const CallSignature& call, std::span<const int> to_tell, std::byte* output,
             size_t output_bytes) override;
  void leave() override;
  void use_rails(int most) override { remote_->use_rails(most); }
  Entered entered(int peer) override { return of(peer).entered(number(peer)); }
  size_t max_staged() const override;
  std::byte* stage(std::span<const int> peers, size_t bytes) override;
  void post(std::span<const int> peers, Key key, size_t bytes) override;
  bool can_send_direct(std::span<const int> peers, const std::byte* data, size_t bytes) const override;
  bool post_direct(std::span<const int> peers, Key key, const std::byte* data, size_t bytes) override;
  std::byte* landing(int peer) const override { return of(peer).landing(number(peer)); }
  bool post_landed(int peer, Key key, const std::byte* data, size_t bytes) override {
    return of(peer).post_landed(number(peer), key, data, bytes);
  }
  bool can_post(int peer) override { return of(peer).can_post(number(peer)); }
  bool drained() override;
  bool find(int peer, Key key, Message* message, std::span<std::byte> place) override {
    return of(peer).find(number(peer), key, message, place);
  }
  void release(int peer, const Message& message) override { of(peer).release(number(peer), message); }
  size_t max_packet_data() const override;
  bool push(int peer, uint8_t type, const void* header, size_t header_bytes, const std::byte* data,
            size_t bytes) override {
    return of(peer).push(number(peer), type, header, header_bytes, data, bytes);
  }
  bool flushed(int peer) override { return of(peer).flushed(number(peer)); }
  bool carries_transfers(int peer) const override { return of(peer).carries_transfers(number(peer)); }
  bool peek(int peer, Packet* packet) override { return of(peer).peek(number(peer), packet); }
  void pop(int peer) override { of(peer).pop(number(peer)); }
  int64_t locate(int peer, const std::byte* data, size_t bytes) const override {
    return of(peer).locate(number(peer), data, bytes);
  }
  std::byte* resolve(int peer, int64_t location) const override {
    return of(peer).resolve(number(peer), location);
  }
  std::optional<Trouble> check(bool collective, std::span<const int> partners) override;
  void announce_failure(Code code, const std::string& text) override;
  CallSignature last_call(int peer) const override { return of(peer).last_call(number(peer)); }
  bool knows_calls(int peer) const override { return of(peer).knows_calls(number(peer)); }
  std::string describe_peer(int peer) const override { return of(peer).describe_peer(number(peer)); }
  size_t shared_bytes() const override { return local_->shared_bytes(); }

 private:
  // A group of peers, as the two endpoints number them.
  struct Split {
    std::vector<int> local, remote;
  };
  bool is_local(int peer) const { return number_[peer] >= 0; }
  Endpoint& of(int peer) const { return is_local(peer) ? *local_ : *remote_; }
  int number(int peer) const { return is_local(peer) ? number_[peer] : peer; }
  const Split& split(std::span<const int> peers) const;

  const std::unique_ptr<Endpoint> local_, remote_;
  const std::vector<int> local_ranks_;
  std::vector<int> number_;  // by rank: what `local` calls it; -1: it is remote
  mutable Split split_;      // of the last group
  std::byte* staged_local_ = nullptr;
  std::byte* staged_remote_ = nullptr;
};

}  // namespace wia
