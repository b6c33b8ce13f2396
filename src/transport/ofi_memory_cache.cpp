#include "transport/ofi_memory_cache.hpp"

namespace wia {

Status OfiMemoryCache::register_region(OfiRegion& region) {
  fid_mr* made = nullptr;
  constexpr uint64_t kAccess = FI_SEND | FI_RECV | FI_READ | FI_REMOTE_READ;
  int answer = fi_mr_reg(domain_.domain, region.begin, region.bytes, kAccess, 0, ++domain_.last_key, 0, &made,
                         nullptr);
  if (answer == 0) {
    region.registration.reset(made);
    if (domain_.mode & FI_MR_ENDPOINT) {
      answer = fi_mr_bind(made, &domain_.endpoint->fid, 0);
      if (answer == 0) answer = fi_mr_enable(made);
    }
  }
  if (answer == 0) return {};
  region.registration.reset();
  return domain_.library.error(
      fmt::format("{} bytes of memory cannot be registered (see ulimit -l)", region.bytes), answer);
}

Result<OfiRegion*> OfiMemoryCache::hold(const std::byte* data, size_t bytes, const MessageBuffer* buffer) {
  const std::byte* begin = buffer ? const_cast<MessageBuffer*>(buffer)->data() : data;
  if (buffer) {
    if (const auto found = by_begin_.find(begin); found != by_begin_.end()) {
      kept_.splice(kept_.end(), kept_, found->second);
      ++found->second->users;
      return &*found->second;
    }
  }
  if (spare_.empty()) spare_.emplace_back();
  OfiRegion& region = spare_.front();
  region.begin = begin;
  region.bytes = buffer ? buffer->allocated : bytes;
  region.users = 1;
  region.kept = buffer != nullptr;
  WIA_RETURN_IF_ERROR(register_region(region));
  Regions& home = buffer ? kept_ : passing_;
  home.splice(home.end(), spare_, spare_.begin());
  if (buffer) {
    by_begin_[begin] = std::prev(kept_.end());
    kept_bytes_ += region.bytes;
    evict(most_kept_);
  }
  return &region;
}

void OfiMemoryCache::evict(size_t most) {
  for (auto each = kept_.begin(); each != kept_.end() && kept_bytes_ > most;) {
    const auto region = each++;
    if (region->users > 0) continue;
    kept_bytes_ -= region->bytes;
    by_begin_.erase(region->begin);
    region->registration.reset();
    spare_.splice(spare_.end(), kept_, region);
  }
}

void OfiMemoryCache::let_go(OfiRegion* region) {
  if (--region->users > 0 || region->kept) return;
  region->registration.reset();
  for (auto each = passing_.begin(); each != passing_.end(); ++each) {
    if (&*each != region) continue;
    spare_.splice(spare_.end(), passing_, each);
    return;
  }
}

uint64_t OfiMemoryCache::remote_address(const OfiRegion& region, const std::byte* data) const {
  if (domain_.mode & FI_MR_VIRT_ADDR) return reinterpret_cast<uint64_t>(data);
  return static_cast<uint64_t>(data - region.begin);
}

}  // namespace wia
