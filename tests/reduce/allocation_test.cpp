// The data path allocates nothing: counted by replacing operator new in this program.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "reduce/reducer.hpp"
#include "reference.hpp"

namespace {
std::atomic<long> allocations{0};

void* counted_allocation(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
}  // namespace

// Inlined in part, this pair looks like memory of malloc that delete frees.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t bytes) { return counted_allocation(bytes); }
void* operator new[](size_t bytes) { return counted_allocation(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace wia {
namespace {

TEST(Allocations, TheCountSeesThem) {
  const long before = allocations;
  delete new int(1);
  EXPECT_EQ(allocations - before, 1);
}

TEST(Allocations, NoneInAnyReduction) {
  std::vector<uint8_t> buffers[4];
  for (auto& buffer : buffers) buffer.resize(16 * 1000);
  const Source sources[] = {{buffers[0].data(), false}, {buffers[1].data(), true}};
  void* const destinations[] = {buffers[2].data(), buffers[3].data()};
  for (int t = 0; t <= kNumDTypes; ++t)
    for (int o = 0; o <= kNumOps; ++o) {
      const auto dtype = static_cast<DType>(t);
      const auto op = static_cast<Op>(o);
      if (!reference::is_valid(dtype, op)) continue;
      const Reducer reducer = Reducer::make(dtype, op, 2).value();
      const long before = allocations;
      for (const bool partial : {false, true}) reducer({sources, 2, destinations, 2, 999, partial, true});
      EXPECT_EQ(allocations - before, 0) << name_of(op) << " " << name_of(dtype);
    }
}

TEST(Allocations, NoneInCopies) {
  std::vector<uint8_t> source(1000), first(1000), second(1000);
  void* const destinations[] = {first.data(), second.data()};
  copy_to_all(destinations, 2, source.data(), 1, false);  // chooses the instruction set
  const long before = allocations;
  copy_to_all(destinations, 1, source.data(), 1000, false);
  copy_to_all(destinations, 2, source.data(), 1000, true);
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace wia
