// Runs N all-reduces of 8 bytes over the loop transport, for budget_test.cpp to count what they cost.
//
//   budget_program RANKS OPERATIONS [sealed]
//
// Prints the steps of all ranks in one operation, and how often the operations called operator new or delete.
// `sealed`: the kernel ends the program at its first system call in the operations (seccomp's strict mode).
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "engine/execution.hpp"
#include "transport/loop.hpp"

namespace {
long allocations = 0;
}

// Inlined in part, this pair looks like memory of malloc that delete frees.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  std::abort();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept {
  ++allocations;
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace wia {
namespace {

// Everyone sends its input to all others and adds up.
Schedule build(int ranks, int rank) {
  Shape shape;
  shape.ranks = ranks;
  shape.rank = rank;
  Builder builder(shape);
  const uint32_t scratch_begin = builder.allocate_scratch(static_cast<uint32_t>(ranks));
  std::vector<Ref> sources;
  for (int i = 1; i < ranks; ++i) builder.send(0, (rank + i) % ranks, input(0), 0);
  for (int peer = 0; peer < ranks; ++peer) {
    const Ref place = peer == rank ? input(0) : scratch(scratch_begin + static_cast<uint32_t>(peer));
    if (peer != rank) builder.recv(0, peer, place, 0, 1, output(0));
    sources.push_back(place);
  }
  builder.reduce(0, output(0), sources, output(0));
  return std::move(std::move(builder).finish().value());
}

struct Rank {
  Rank(LoopGroup& group, int rank) : schedule(build(group.ranks(), rank)), execution(group.endpoint(rank)) {}
  Schedule schedule;
  Binding binding;
  Execution execution;
  int64_t in = 1, out = 0;
};

void bind(Rank& rank, const Reducer& reducer) {
  rank.binding.input = reinterpret_cast<std::byte*>(&rank.in);
  rank.binding.output = reinterpret_cast<std::byte*>(&rank.out);
  rank.binding.input_extents = rank.binding.output_extents = Extents::even(1, 1);
  rank.binding.raw_bytes = 8;
  rank.binding.reducer = &reducer;
  rank.binding.slice_elements = 1;
  rank.binding.measure();
}

void all_reduce(std::vector<Rank>& ranks, uint64_t sequence) {
  for (Rank& rank : ranks) {
    CallSignature call;
    call.sequence = sequence;
    call.hash = 42;
    rank.execution.start(rank.schedule, rank.binding, call);
    rank.execution.advance();  // its sends
  }
  for (Rank& rank : ranks) {
    if (rank.execution.advance() != Execution::State::done || rank.out != static_cast<int64_t>(ranks.size()))
      std::abort();
  }
}

}  // namespace
}  // namespace wia

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  wia::LoopGroup group(std::atoi(argv[1]));
  const wia::Reducer reducer = wia::Reducer::make(wia::DType::int64, wia::Op::sum, group.ranks()).value();
  std::vector<wia::Rank> ranks;
  ranks.reserve(static_cast<size_t>(group.ranks()));
  for (int rank = 0; rank < group.ranks(); ++rank) ranks.emplace_back(group, rank);
  for (wia::Rank& rank : ranks) wia::bind(rank, reducer);
  const uint64_t warm_up = 100, end = warm_up + static_cast<uint64_t>(std::atoll(argv[2]));
  for (uint64_t sequence = 1; sequence < warm_up; ++sequence) all_reduce(ranks, sequence);
  if (argc > 3 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 3;
  const long before = allocations;
  for (uint64_t sequence = warm_up; sequence < end; ++sequence) all_reduce(ranks, sequence);
  size_t steps = 0;
  for (const wia::Rank& rank : ranks) steps += rank.schedule.num_steps();
  const long made = allocations - before;
  char text[64];
  const int length = std::snprintf(text, sizeof text, "steps %zu allocations %ld\n", steps, made);
  const bool written = write(1, text, static_cast<size_t>(length)) == length;
  syscall(SYS_exit, written ? 0 : 1);  // strict mode allows this one and write
}
