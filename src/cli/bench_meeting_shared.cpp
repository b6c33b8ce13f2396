#include "cli/bench_meeting_shared.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "base/random.hpp"

namespace wia::cli::bench {
namespace {

constexpr size_t kHead = 4096;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Where rank 0's memory is.
struct Address {
  int64_t pid, fd;
  uint64_t nonce;
};

}  // namespace

std::unique_ptr<Meeting> SharedMeeting::make(wia_communicator_t* world, int stamps) {
  std::unique_ptr<SharedMeeting> made(new SharedMeeting(world, stamps));
  if (!made->good_) return nullptr;
  return made;
}

SharedMeeting::SharedMeeting(wia_communicator_t* world, int stamps)
    : Meeting(world),
      stamps_((static_cast<size_t>(stamps) + 7) / 8 * 8),  // whole cache lines
      bytes_(kHead + stamps_ * static_cast<size_t>(ranks()) * sizeof(Stamp)),
      spins_(ranks() <= allowed_cpus()) {
  static_assert(sizeof(Shared) <= kHead);
  Address address = {getpid(), -1, 0};
  if (rank() == 0) {
    create();
    address.fd = file_.get();
    address.nonce = shared_->nonce;
  }
  must(wia_broadcast_buffer(&address, 3, WIA_INT64, 0, world, nullptr));
  if (rank() > 0) {
    const std::string path = fmt::format("/proc/{}/fd/{}", address.pid, address.fd);
    file_.reset(open(path.c_str(), O_RDWR | O_CLOEXEC));
    void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (mapped != MAP_FAILED) shared_ = static_cast<Shared*>(mapped);
  }
  int32_t good = shared_ && shared_->nonce == address.nonce;
  must(wia_all_reduce(&good, &good, 1, WIA_INT32, WIA_OP_MIN, world, nullptr));
  good_ = good != 0;
  if (!good_) return;
  std::vector<int64_t> pids(static_cast<size_t>(ranks()));
  const int64_t own = getpid();
  must(wia_all_gather(&own, pids.data(), 1, WIA_INT64, world, nullptr));
  for (const int64_t pid : pids)
    if (pid != own)
      processes_.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
}

void SharedMeeting::create() {
  file_.reset(memfd_create("wia-bench", MFD_CLOEXEC));
  void* mapped = MAP_FAILED;
  if (file_ && ftruncate(file_.get(), static_cast<off_t>(bytes_)) == 0)
    mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (mapped == MAP_FAILED)
    throw std::runtime_error(fmt::format("no {} bytes of shared memory: {}", bytes_, strerror(errno)));
  shared_ = new (mapped) Shared();
  shared_->nonce = random_bits();
}

SharedMeeting::~SharedMeeting() {
  if (shared_) munmap(shared_, bytes_);
}

SharedMeeting::Stamp* SharedMeeting::stamps(int rank) const {
  auto* first = reinterpret_cast<Stamp*>(reinterpret_cast<std::byte*>(shared_) + kHead);
  return first + static_cast<size_t>(rank) * stamps_;
}

void SharedMeeting::barrier() {
  const uint32_t phase = shared_->phase.load(std::memory_order_acquire);
  if (shared_->arrived.fetch_add(1) + 1 == static_cast<uint32_t>(ranks())) {
    shared_->arrived.store(0);
    shared_->phase.store(phase + 1, std::memory_order_release);
    return;
  }
  const uint32_t often = spins_ ? 0xffff : 0x3ff;
  for (uint32_t polls = 1; shared_->phase.load(std::memory_order_acquire) == phase; ++polls) {
    if (spins_) relax();
    if (!spins_ || (polls & 0xffff) == 0) sched_yield();
    // A rank that ends after the last barrier is no trouble: that barrier is over.
    if ((polls & often) == 0 && somebody_is_gone() && shared_->phase.load(std::memory_order_acquire) == phase)
      throw std::runtime_error("another rank has failed");
  }
}

bool SharedMeeting::somebody_is_gone() const {
  if (shared_->failed.load() != 0) return true;
  for (const FileDescriptor& process : processes_) {
    pollfd ended = {process.get(), POLLIN, 0};  // readable once the process has ended
    if (process && poll(&ended, 1, 0) > 0) return true;
  }
  return false;
}

std::vector<int64_t> SharedMeeting::times(std::span<const Stamp> own) {
  std::copy(own.begin(), own.end(), stamps(rank()));
  barrier();
  std::vector<int64_t> all;
  for (size_t i = 0; i < own.size(); ++i) {
    auto [start, end] = own[i];
    for (int r = 0; r < ranks(); ++r) {
      start = std::min(start, stamps(r)[i].start);
      end = std::max(end, stamps(r)[i].end);
    }
    all.push_back(end - start);
  }
  barrier();
  return all;
}

int64_t SharedMeeting::agree(int64_t value) {
  if (rank() == 0) shared_->value.store(value);
  barrier();
  const int64_t agreed = shared_->value.load();
  barrier();
  return agreed;
}

uint64_t SharedMeeting::sum(uint64_t value) {
  shared_->sum.fetch_add(value);
  barrier();
  const uint64_t all = shared_->sum.load();
  barrier();
  if (rank() == 0) shared_->sum.store(0);
  barrier();
  return all;
}

}  // namespace wia::cli::bench
