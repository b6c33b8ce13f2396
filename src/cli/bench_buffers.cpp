#include "cli/bench_buffers.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace wia::cli::bench {
namespace {

// Before the buffer a whole page, so that the buffer itself begins with one; its last kGuard bytes are looked
// at.
constexpr size_t kBefore = 4096, kGuard = 64;
constexpr int kGuardByte = 0x5c, kPoison = 0xa5;

size_t whole(size_t bytes) { return kBefore + bytes + kGuard; }

size_t bytes_of(const Cell& cell, size_t elements) { return elements * size_of(cell.dtype); }

}  // namespace

GuardedMemory::GuardedMemory(size_t bytes, bool from_wia) : bytes_(bytes), from_wia_(from_wia) {
  void* memory =
      from_wia ? wia_alloc(whole(bytes))
               : mmap(nullptr, whole(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (from_wia && !memory) throw std::runtime_error(wia_last_error_message());
  if (memory == MAP_FAILED) throw std::runtime_error(fmt::format("no memory for {} bytes", whole(bytes)));
  memory_ = static_cast<std::byte*>(memory);
  std::memset(data() - kGuard, kGuardByte, kGuard);
  std::memset(data() + bytes_, kGuardByte, kGuard);
}

GuardedMemory::~GuardedMemory() {
  if (from_wia_)
    wia_free(memory_);
  else
    munmap(memory_, whole(bytes_));
}

std::byte* GuardedMemory::data() const { return memory_ + kBefore; }

void GuardedMemory::poison() { std::memset(data(), kPoison, bytes_); }

size_t GuardedMemory::damaged() const {
  const auto written = [](std::byte byte) { return byte != std::byte{kGuardByte}; };
  return static_cast<size_t>(std::count_if(data() - kGuard, data(), written) +
                             std::count_if(data() + bytes_, data() + bytes_ + kGuard, written));
}

bool Buffers::shared_at(const Cell& cell, int rank) {
  if (cell.kind == Collective::broadcast) return true;
  return cell.in_place && (!cell.has_root() || rank == cell.root);
}

Buffers::Buffers(const Cell& cell, bool from_wia, wia_communicator_t* comm)
    : cell_(cell),
      comm_(comm),
      rank_(wia_rank(comm)),
      ranks_(wia_size(comm)),
      shared_(shared_at(cell, rank_)),
      first_(bytes_of(cell,
                      shared_ ? std::max(cell.send_elements(rank_, ranks_), cell.recv_elements(rank_, ranks_))
                              : cell.send_elements(rank_, ranks_)),
             from_wia),
      second_(shared_ ? 0 : bytes_of(cell, cell.recv_elements(rank_, ranks_)), from_wia),
      send_(first_.data()),
      recv_(shared_ ? first_.data() : second_.data()) {
  if (!shared_) return;
  const size_t own = bytes_of(cell, static_cast<size_t>(rank_) * cell.count);
  if (cell.kind == Collective::all_gather || cell.kind == Collective::gather) send_ += own;
  if (cell.kind == Collective::reduce_scatter || cell.kind == Collective::scatter) recv_ += own;
}

void Buffers::poison() {
  first_.poison();
  second_.poison();
}

void Buffers::prepare(const TestData& data) {
  poison();
  if (cell_.kind != Collective::broadcast || rank_ == cell_.root) data.fill(send_);
}

size_t Buffers::count_wrong(const TestData& data) const {
  const size_t wrong = data.count_wrong(recv_) + first_.damaged() + second_.damaged();
  return shared_ ? wrong : wrong + data.count_changed(send_);
}

wia_status_t Buffers::call() const {
  const auto dtype = static_cast<wia_dtype_t>(cell_.dtype);
  const auto op = static_cast<wia_op_t>(cell_.op);
  const size_t count = cell_.count;
  if (!cell_.kind) {
    const int next = (rank_ + 1) % ranks_, previous = (rank_ + ranks_ - 1) % ranks_;
    return wia_sendrecv(send_, count, next, recv_, count, previous, dtype, 0, comm_);
  }
  switch (*cell_.kind) {
    case Collective::all_reduce:
      return wia_all_reduce(send_, recv_, count, dtype, op, comm_, nullptr);
    case Collective::all_gather:
      return wia_all_gather(send_, recv_, count, dtype, comm_, nullptr);
    case Collective::reduce_scatter:
      return wia_reduce_scatter_block(send_, recv_, count, dtype, op, comm_, nullptr);
    case Collective::broadcast:
      return wia_broadcast_buffer(recv_, count, dtype, cell_.root, comm_, nullptr);
    case Collective::reduce:
      return wia_reduce(send_, recv_, count, dtype, op, cell_.root, comm_, nullptr);
    case Collective::gather:
      return wia_gather(send_, recv_, count, dtype, cell_.root, comm_, nullptr);
    case Collective::scatter:
      return wia_scatter(send_, recv_, count, dtype, cell_.root, comm_, nullptr);
    case Collective::all_to_all:
      return wia_all_to_all(send_, recv_, count, dtype, comm_, nullptr);
    case Collective::barrier:
      return wia_barrier(comm_);
  }
  return WIA_ERROR_INVALID_ARGUMENT;
}

}  // namespace wia::cli::bench
