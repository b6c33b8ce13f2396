// Memory that the processes of one host share.
//
// Every process has one heap: an anonymous memory file, mapped once as a whole. Peers open it through
// /proc/PID/fd/N and check a random nonce inside, so being on the same host is established by doing it.
// Everything shared lies in heaps: the communicators' rings and staging, and what wia_alloc gives. Since a
// heap is mapped as a whole, an address in it is a peer's base plus an offset, and a new communicator needs
// neither a descriptor nor a mapping.
//
// The file has no name: nothing is left behind when a process is killed, /dev/shm and its size play no part.
// Pages come into being when they are touched and go back to the system when freed.
//
// Thread safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/status.hpp"
#include "base/wait.hpp"

namespace wia {

// First page of every heap.
struct HeapHeader {
  uint64_t magic;
  uint64_t nonce;
  uint64_t bytes;
  Doorbell doorbell;  // of the process
};

class ShmHeap {
 public:
  // The heap of this process, made on first use with the given address space (0: as large as the machine's
  // memory). Null with an error when the system refuses.
  static Result<ShmHeap*> instance(size_t bytes = 0);
  // The heap if there is one already.
  static ShmHeap* existing();

  // At least 64-byte aligned; from 2 MiB on aligned to that, with huge pages where the system has them. Null:
  // no room. The error says how much was asked for and how much there is.
  Result<std::byte*> allocate(size_t bytes);
  // False: not a pointer that allocate() gave.
  bool free(void* pointer);

  bool contains(const void* data, size_t bytes) const {
    const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(data) - base_);
    return offset < bytes_ && bytes <= bytes_ - offset;
  }
  std::byte* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  HeapHeader& header() const { return *reinterpret_cast<HeapHeader*>(base_); }
  // What a peer needs to map it: "pid fd nonce bytes".
  std::string address() const;

 private:
  ShmHeap(int fd, std::byte* base, size_t bytes);
  // Free blocks by offset; neighbours are always merged.
  struct Region {
    std::map<size_t, size_t> free;  // offset -> bytes
    size_t granule;
    size_t take(size_t bytes);  // 0: none
    void give(size_t offset, size_t bytes);
  };

  const int fd_;
  std::byte* const base_;
  const size_t bytes_;
  std::mutex mutex_;
  Region small_, large_;
  std::unordered_map<size_t, size_t> used_;  // offset -> bytes
};

// Another process's heap, mapped here; or this process's own (several ranks in one process).
class PeerHeap {
 public:
  // Not reachable (another host, another PID namespace, no permission): Code::unreachable with the reason.
  static Result<std::shared_ptr<PeerHeap>> open(const std::string& address);
  ~PeerHeap();
  std::byte* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  HeapHeader& header() const { return *reinterpret_cast<HeapHeader*>(base_); }
  int pid() const { return pid_; }
  bool alive() const;  // makes a system call

 private:
  PeerHeap() = default;
  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
  int pid_ = 0;
  int pidfd_ = -1;
  bool own_ = false;
};

}  // namespace wia
