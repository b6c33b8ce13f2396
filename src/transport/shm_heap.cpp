#include "transport/shm_heap.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace wia {
namespace {

constexpr uint64_t kMagic = 0x3170616568616977;  // "wiaheap1"
constexpr size_t kHuge = size_t{2} << 20;
constexpr size_t kLine = 64;
constexpr size_t kPage = 4096;
constexpr size_t kCheckedFrom = size_t{64} << 20;  // larger requests are held against the free memory first

std::atomic<ShmHeap*> instance_{nullptr};
std::mutex instance_mutex_;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// Address space of `bytes` aligned to 2 MiB and backed by `fd`; null with errno set.
std::byte* map_aligned(int fd, size_t bytes) {
  void* reserved =
      mmap(nullptr, bytes + kHuge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(reserved);
  auto* aligned = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(begin), kHuge));
  if (aligned != begin) munmap(begin, static_cast<size_t>(aligned - begin));
  munmap(aligned + bytes, static_cast<size_t>(begin + kHuge - aligned));
  if (mmap(aligned, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0) ==
      MAP_FAILED) {
    const int reason = errno;
    munmap(aligned, bytes);
    errno = reason;
    return nullptr;
  }
  // Small blocks lie in the first eighth: huge pages would waste memory there.
  madvise(aligned + bytes / 8, bytes - bytes / 8, MADV_HUGEPAGE);
  madvise(aligned, bytes, MADV_DONTDUMP);
  return aligned;
}

// What can still be used without swapping: MemAvailable, and the limit of the own cgroup (v2).
size_t available_memory() {
  size_t available = SIZE_MAX;
  std::ifstream meminfo("/proc/meminfo");
  std::string name, unit;
  size_t kib;
  while (meminfo >> name >> kib && std::getline(meminfo, unit)) {
    if (name == "MemAvailable:") available = kib * 1024;
  }
  size_t limit = 0, current = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit &&
      std::ifstream("/sys/fs/cgroup/memory.current") >> current)
    available = std::min(available, limit > current ? limit - current : 0);
  return available;
}

}  // namespace

Result<ShmHeap*> ShmHeap::instance(size_t bytes) {
  if (auto* existing = instance_.load(std::memory_order_acquire)) return existing;
  std::lock_guard lock(instance_mutex_);
  if (auto* existing = instance_.load(std::memory_order_acquire)) return existing;
  const int fd = memfd_create("wia-heap", MFD_CLOEXEC);
  if (fd < 0) return Status::error(Code::system, "shared memory: memfd_create: {}", std::strerror(errno));
  struct sysinfo machine;
  const size_t memory =
      sysinfo(&machine) == 0 ? size_t{machine.totalram} * machine.mem_unit : size_t{16} << 30;
  size_t want = bytes ? round_up(bytes, 16 * kHuge) : std::bit_ceil(memory);
  std::byte* base = nullptr;
  // Address space may be limited (ulimit -v, containers): half as much will often do.
  for (; want >= 16 * kHuge && !base; want /= 2) {
    if (ftruncate(fd, static_cast<off_t>(want)) == 0) base = map_aligned(fd, want);
    if (base) break;
  }
  if (!base) {
    const int reason = errno;
    close(fd);
    return Status::error(
        Code::out_of_memory,
        "shared memory: no address space for a heap of {} MiB: {}; WIA_HEAP_SIZE sets its size",
        16 * kHuge >> 20, std::strerror(reason));
  }
  auto* heap = new ShmHeap(fd, base, want);
  instance_.store(heap, std::memory_order_release);
  return heap;
}

ShmHeap* ShmHeap::existing() { return instance_.load(std::memory_order_acquire); }

ShmHeap::ShmHeap(int fd, std::byte* base, size_t bytes) : fd_(fd), base_(base), bytes_(bytes) {
  auto* header = new (base) HeapHeader();
  header->magic = kMagic;
  header->bytes = bytes;
  if (getrandom(&header->nonce, sizeof header->nonce, 0) != sizeof header->nonce)
    header->nonce = reinterpret_cast<uintptr_t>(this) ^ static_cast<uint64_t>(getpid()) << 32;
  small_.granule = kLine;
  large_.granule = kHuge;
  const size_t border = bytes / 8 / kHuge * kHuge;
  small_.free[kPage] = border - kPage;
  large_.free[border] = bytes - border;
}

size_t ShmHeap::Region::take(size_t bytes) {
  auto best = free.end();
  for (auto block = free.begin(); block != free.end(); ++block)
    if (block->second >= bytes && (best == free.end() || block->second < best->second)) best = block;
  if (best == free.end()) return 0;
  const auto [offset, length] = *best;
  free.erase(best);
  if (length > bytes) free[offset + bytes] = length - bytes;
  return offset;
}

void ShmHeap::Region::give(size_t offset, size_t bytes) {
  auto next = free.lower_bound(offset);
  if (next != free.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free.erase(next);
  }
  if (next != free.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      previous->second += bytes;
      return;
    }
  }
  free[offset] = bytes;
}

Result<std::byte*> ShmHeap::allocate(size_t bytes) {
  if (bytes >= kCheckedFrom) {
    const size_t available = available_memory();
    if (bytes > available)
      return Status::error(Code::out_of_memory,
                           "{} bytes of shared memory asked for, {} bytes of memory are free", bytes,
                           available);
  }
  std::lock_guard lock(mutex_);
  Region& region = bytes < kHuge ? small_ : large_;
  const size_t rounded = round_up(std::max<size_t>(bytes, 1), region.granule);
  const size_t offset = rounded >= bytes ? region.take(rounded) : 0;
  if (offset == 0)
    return Status::error(Code::out_of_memory,
                         "{} bytes do not fit into the shared heap of {} bytes; WIA_HEAP_SIZE sets its size",
                         bytes, bytes_);
  used_[offset] = rounded;
  return base_ + offset;
}

bool ShmHeap::free(void* pointer) {
  std::lock_guard lock(mutex_);
  const auto block = used_.find(static_cast<size_t>(static_cast<std::byte*>(pointer) - base_));
  if (!contains(pointer, 1) || block == used_.end()) return false;
  const auto [offset, bytes] = *block;
  used_.erase(block);
  // Whole pages inside go back to the system at once.
  const size_t first = round_up(offset, kPage), last = (offset + bytes) / kPage * kPage;
  if (last > first && last - first >= 16 * kPage)
    fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
              static_cast<off_t>(last - first));
  (bytes < kHuge ? small_ : large_).give(offset, bytes);
  return true;
}

std::string ShmHeap::address() const {
  return fmt::format("{} {} {} {}", getpid(), fd_, header().nonce, bytes_);
}

Result<std::shared_ptr<PeerHeap>> PeerHeap::open(const std::string& address) {
  int pid = 0, fd = 0;
  uint64_t nonce = 0;
  size_t bytes = 0;
  if (std::sscanf(address.c_str(), "%d %d %lu %zu", &pid, &fd, &nonce, &bytes) != 4)
    return Status::error(Code::protocol, "damaged address of shared memory: '{}'", address);
  std::shared_ptr<PeerHeap> peer(new PeerHeap);
  peer->pid_ = pid;
  peer->bytes_ = bytes;
  if (auto* own = ShmHeap::existing(); own && own->header().nonce == nonce) {
    peer->base_ = own->base();
    peer->own_ = true;
    return peer;
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    const int reason = errno;
    return Status::error(
        Code::unreachable, "no shared memory with process {}: {}: {}{}", pid, path, std::strerror(reason),
        reason == ENOENT ? " (it has ended, or is not on this host or in this PID namespace)" : "");
  }
  struct stat info;
  std::byte* base = fstat(file, &info) == 0 && static_cast<size_t>(info.st_size) == bytes
                        ? map_aligned(file, bytes)
                        : nullptr;
  const int reason = errno;
  close(file);
  if (!base)
    return Status::error(Code::unreachable, "no shared memory with process {}: mapping {} bytes: {}", pid,
                         bytes, std::strerror(reason));
  peer->base_ = base;
  if (peer->header().magic != kMagic || peer->header().nonce != nonce)
    return Status::error(Code::unreachable,
                         "no shared memory with process {}: {} is not its heap (another PID namespace?)", pid,
                         path);
  peer->pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  return peer;
}

PeerHeap::~PeerHeap() {
  if (own_) return;
  if (base_) munmap(base_, bytes_);
  if (pidfd_ >= 0) close(pidfd_);
}

bool PeerHeap::alive() const {
  if (own_) return true;
  if (pidfd_ >= 0) {
    pollfd exited{pidfd_, POLLIN, 0};  // readable once the process has ended, reaped or not
    return poll(&exited, 1, 0) <= 0;
  }
  return kill(pid_, 0) == 0 || errno == EPERM;
}

}  // namespace wia
