// One NIC as libfabric gives it: an endpoint, its queue of completions, its peers' addresses, registered
// buffers for short messages. Everything here is the port's own (its domain, too), so that no communicator
// waits for another's lock and closing it ends all that is under way. Used by one thread at a time.
//
// Messages are untagged and land in multi-receive buffers: whose a message is says its header, so there is
// nothing for tags to match, and a few large buffers take what posted receives of the longest message each
// would need many times the memory for.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/ofi_memory_cache.hpp"
#include "transport/ofi_nics.hpp"

namespace wia {

// Something that libfabric has under way for us.
struct OfiOperation {
  enum Kind { receive, send, read };
  fi_context2 context;  // libfabric's own; first
  Kind kind = receive;
  int peer = -1;
};

// A short message on its way out.
struct OfiMessage : OfiOperation {
  static constexpr size_t kMaxBytes = 16 << 10;
  OfiMessage* next = nullptr;  // of those that wait for their turn, or of the free ones
  void* descriptor = nullptr;
  fi_addr_t to = FI_ADDR_UNSPEC;
  size_t rail = 0;
  size_t bytes = 0;
  alignas(64) std::byte data[kMaxBytes];
};

struct OfiCompletion {
  OfiOperation* operation = nullptr;
  std::span<const std::byte> received;
  bool last = false;  // a receive's buffer is used up: give it back
  int error = 0;      // as errno
  std::string reason;
};

class OfiPort {
 public:
  static Result<std::unique_ptr<OfiPort>> open(const OfiLibrary& library, const OfiNic& nic);
  ~OfiPort();

  const std::string& text() const { return text_; }  // "tcp;ofi_rxm on eth0"
  std::string name() const;                          // hexadecimal
  Result<fi_addr_t> add_peer(const std::string& name);

  // All below: 0, or -FI_EAGAIN for not now, or an error of libfabric.
  OfiMessage* take_message();  // null: no memory
  void give_back(OfiMessage* message);
  ssize_t send(OfiMessage* message);
  ssize_t read(OfiOperation* operation, fi_addr_t from, std::span<std::byte> to, void* descriptor,
               uint64_t address, uint64_t key);
  size_t longest_read() const { return longest_read_; }

  // What has come to an end; moves things along, too.
  std::span<OfiCompletion> poll();
  // A multi-receive buffer that was used up and read.
  Status receive_again(OfiOperation* operation);

  OfiMemoryCache& memory() { return *memory_; }
  // Before the pool's memory goes: nothing of it is registered any more.
  void forget_memory() { memory_->forget(); }

 private:
  struct ReceiveBuffer : OfiOperation {
    static constexpr size_t kBytes = 256 << 10;
    std::byte* data = nullptr;
    void* descriptor = nullptr;
  };
  struct Slab;
  static constexpr size_t kReceiveBuffers = 4;
  static constexpr size_t kAtOnce = 16;

  explicit OfiPort(const OfiLibrary& library);
  Status open_objects(fi_info& info);
  Status post_receives();
  void read_error(OfiCompletion& completion);
  bool add_slab();

  const OfiLibrary& library_;
  std::string text_;
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_av> addresses_;
  Fid<fid_cq> completions_;
  Fid<fid_ep> endpoint_;
  size_t longest_read_ = 0;
  std::unique_ptr<OfiMemoryCache> memory_;
  std::unique_ptr<std::byte[]> receive_memory_;
  std::vector<ReceiveBuffer> receives_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  OfiMessage* free_ = nullptr;
  OfiCompletion done_[kAtOnce];
};

}  // namespace wia
