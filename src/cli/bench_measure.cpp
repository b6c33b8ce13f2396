#include "cli/bench_measure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "base/deadline.hpp"

namespace wia::cli::bench {
namespace {

constexpr double kBudget = 0.3;  // seconds of timed calls
constexpr int kWarmUp = 3, kLeast = 5, kMost = 4000;
constexpr size_t kGuard = 64;
constexpr auto kGuardByte = std::byte{0xa5};

void must(wia_status_t status) {
  if (status != WIA_SUCCESS) throw std::runtime_error(wia_last_error_message());
}

// Memory for one buffer, with guard bytes around it.
class Buffer {
 public:
  Buffer(size_t bytes, bool wia_memory) : bytes_(bytes), wia_memory_(wia_memory) {
    const size_t all = bytes + 2 * kGuard;
    memory_ = static_cast<std::byte*>(wia_memory ? wia_alloc(all) : std::malloc(all));
    if (!memory_)
      throw std::runtime_error(wia_memory ? wia_last_error_message()
                                          : fmt::format("no memory for {} bytes", all));
    std::fill_n(memory_, kGuard, kGuardByte);
    std::fill_n(memory_ + kGuard + bytes, kGuard, kGuardByte);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { wia_memory_ ? wia_free(memory_) : std::free(memory_); }
  std::byte* data() const { return memory_ + kGuard; }
  void poison() { std::memset(data(), 0xff, bytes_); }
  size_t damaged() const {
    size_t bad = 0;
    for (size_t i = 0; i < kGuard; ++i)
      bad += (memory_[i] != kGuardByte) + (memory_[kGuard + bytes_ + i] != kGuardByte);
    return bad;
  }

 private:
  std::byte* memory_;
  size_t bytes_;
  bool wia_memory_;
};

// One call with its buffers; in place both are parts of the larger one.
class Call {
 public:
  Call(const Shape& shape, bool in_place, bool wia_memory, wia_communicator_t* comm)
      : shape_(shape),
        in_place_(in_place),
        comm_(comm),
        element_(size_of(shape.dtype)),
        first_(std::max(send_count(shape), in_place ? recv_count(shape) : 0) * element_, wia_memory),
        second_(in_place ? 0 : recv_count(shape) * element_, wia_memory) {
    send_ = first_.data();
    recv_ = in_place ? first_.data() : second_.data();
    if (in_place && shape.kind) {
      const size_t own = static_cast<size_t>(shape.rank) * shape.count * element_;
      if (*shape.kind == Collective::all_gather ||
          (*shape.kind == Collective::gather && shape.rank == shape.root))
        send_ += own;
      if (*shape.kind == Collective::reduce_scatter ||
          (*shape.kind == Collective::scatter && shape.rank == shape.root))
        recv_ += own;
    }
  }

  void prepare() {
    if (!in_place_) second_.poison();
    fill(shape_, send_, send_count(shape_));
    if (shape_.kind == Collective::broadcast && shape_.rank == shape_.root) fill(shape_, recv_, shape_.count);
  }
  size_t wrong() const { return count_wrong(shape_, recv_) + first_.damaged() + second_.damaged(); }

  wia_status_t run() {
    const auto dtype = static_cast<wia_dtype_t>(shape_.dtype);
    const auto op = static_cast<wia_op_t>(shape_.op);
    const size_t n = shape_.count;
    const int root = shape_.root;
    if (!shape_.kind) {
      const int next = (shape_.rank + 1) % shape_.ranks,
                previous = (shape_.rank + shape_.ranks - 1) % shape_.ranks;
      return wia_sendrecv(send_, n, next, recv_, n, previous, dtype, 0, comm_);
    }
    switch (*shape_.kind) {
      case Collective::all_reduce:
        return wia_all_reduce(send_, recv_, n, dtype, op, comm_, nullptr);
      case Collective::all_gather:
        return wia_all_gather(send_, recv_, n, dtype, comm_, nullptr);
      case Collective::reduce_scatter:
        return wia_reduce_scatter_block(send_, recv_, n, dtype, op, comm_, nullptr);
      case Collective::broadcast:
        return wia_broadcast_buffer(recv_, n, dtype, root, comm_, nullptr);
      case Collective::reduce:
        return wia_reduce(send_, recv_, n, dtype, op, root, comm_, nullptr);
      case Collective::gather:
        return wia_gather(send_, recv_, n, dtype, root, comm_, nullptr);
      case Collective::scatter:
        return wia_scatter(send_, recv_, n, dtype, root, comm_, nullptr);
      case Collective::all_to_all:
        return wia_all_to_all(send_, recv_, n, dtype, comm_, nullptr);
      case Collective::barrier:
        return wia_barrier(comm_);
    }
    return WIA_ERROR_INVALID_ARGUMENT;
  }

 private:
  const Shape shape_;
  const bool in_place_;
  wia_communicator_t* const comm_;
  const size_t element_;
  Buffer first_, second_;
  std::byte *send_, *recv_;
};

int choose_iterations(const Options& options, wia_communicator_t* comm, Call& call) {
  if (options.iterations > 0) return options.iterations;
  const int64_t began = now_ns();
  for (int i = 0; i < kWarmUp; ++i) must(call.run());
  const double each = static_cast<double>(now_ns() - began) * 1e-9 / kWarmUp;
  auto iterations =
      static_cast<int32_t>(std::clamp(kBudget / std::max(each, 1e-7), double{kLeast}, double{kMost}));
  must(wia_broadcast_buffer(&iterations, 1, WIA_INT32, 0, comm, nullptr));
  return iterations;
}

// Factor from algorithm to bus bandwidth, as nccl-tests define it.
double bus_factor(Kind kind, int ranks) {
  if (!kind) return 1;
  const double n = ranks;
  switch (*kind) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::gather:
    case Collective::scatter:
    case Collective::all_to_all:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace

void measure(const Options& options, wia_communicator_t* comm, Line* line) {
  Call call(line->shape, line->in_place, options.wia_memory, comm);
  call.prepare();
  // What an algorithm cannot do is found before anything is sent, on all ranks alike.
  const wia_status_t first = call.run();
  if (first == WIA_ERROR_UNSUPPORTED || first == WIA_ERROR_INVALID_ARGUMENT) {
    line->skipped = wia_last_error_message();
    return;
  }
  must(first);
  if (line->checked) line->wrong = call.wrong();

  line->iterations = choose_iterations(options, comm, call);
  const auto n = static_cast<size_t>(line->iterations), ranks = static_cast<size_t>(line->shape.ranks);
  std::vector<int64_t> own(2 * n), all(2 * n * ranks);
  for (size_t i = 0; i < n; ++i) {
    must(wia_barrier(comm));
    own[2 * i] = now_ns();
    must(call.run());
    own[2 * i + 1] = now_ns();
  }
  must(wia_all_gather(own.data(), all.data(), own.size(), WIA_INT64, comm, nullptr));
  std::vector<double> times(n);
  for (size_t i = 0; i < n; ++i) {
    int64_t start = all[2 * i], end = all[2 * i + 1];
    for (size_t r = 1; r < ranks; ++r) {
      start = std::min(start, all[r * 2 * n + 2 * i]);
      end = std::max(end, all[r * 2 * n + 2 * i + 1]);
    }
    times[i] = static_cast<double>(end - start) * 1e-3;
  }
  std::sort(times.begin(), times.end());
  line->median_us = times[n / 2];
  line->p99_us = times[std::min(n - 1, n * 99 / 100)];
  line->min_us = times[0];
  line->algorithm_bandwidth = static_cast<double>(line->bytes) / (line->median_us * 1e3);
  line->bus_bandwidth = line->algorithm_bandwidth * bus_factor(line->shape.kind, line->shape.ranks);

  if (line->checked) {  // once more, on fresh buffers' content
    call.prepare();
    must(wia_barrier(comm));
    must(call.run());
    line->wrong += call.wrong();
    uint64_t wrong = line->wrong;
    must(wia_all_reduce(&wrong, &wrong, 1, WIA_UINT64, WIA_OP_SUM, comm, nullptr));
    line->wrong = wrong;
  }
}

}  // namespace wia::cli::bench
