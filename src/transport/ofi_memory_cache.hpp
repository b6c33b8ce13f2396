// Memory that a NIC may read or write: registrations in one domain.
//
// Memory of a message pool is registered once and kept, up to a limit: the pool gives nothing back to the
// system while it lives, so what is kept stays true. Other memory is registered until it is let go: a port's
// own buffers for good, a user's never, since nobody tells when it is unmapped. Guarded by the port's mutex.
#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "transport/messages.hpp"
#include "transport/ofi_library.hpp"

namespace wia {

struct OfiRegion {
  Fid<fid_mr> registration;
  const std::byte* begin = nullptr;
  size_t bytes = 0;
  uint32_t users = 0;
  bool kept = false;

  void* descriptor() const { return registration ? fi_mr_desc(registration.get()) : nullptr; }
};

// What has to be known of a domain to register memory there.
struct OfiDomain {
  const OfiLibrary& library;
  fid_domain* domain = nullptr;
  fid_ep* endpoint = nullptr;
  uint64_t mode = 0;  // as fi_domain_attr::mr_mode
  uint64_t last_key = 0;
  // Whether the provider wants even this rank's own end of a transfer registered.
  bool needs_local() const { return mode & FI_MR_LOCAL; }
};

class OfiMemoryCache {
 public:
  // `most_kept`: bytes of the pool's memory that stay registered.
  OfiMemoryCache(OfiDomain& domain, size_t most_kept) : domain_(domain), most_kept_(most_kept) {}

  // A registration of [data, data + bytes), inside `buffer` if that is given. let_go() is its end.
  Result<OfiRegion*> hold(const std::byte* data, size_t bytes, const MessageBuffer* buffer);
  void let_go(OfiRegion* region);
  // How the peers name `data` of the region.
  uint64_t remote_address(const OfiRegion& region, const std::byte* data) const;

  // Gives up all that is kept.
  void forget() { evict(0); }
  size_t kept_bytes() const { return kept_bytes_; }

 private:
  using Regions = std::list<OfiRegion>;
  Status register_region(OfiRegion& region);
  void evict(size_t most);

  OfiDomain& domain_;
  const size_t most_kept_;
  Regions kept_, passing_, spare_;  // kept: the longest unused first
  std::unordered_map<const std::byte*, Regions::iterator> by_begin_;
  size_t kept_bytes_ = 0;
};

}  // namespace wia
