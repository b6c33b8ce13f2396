// copy_to_all: any number of destinations, sizes and addresses; nothing beside the destinations is written.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "reduce/reducer.hpp"

namespace wia {
namespace {

void check_copy(size_t bytes, size_t num_destinations, size_t misalignment, bool streaming) {
  constexpr size_t kGuard = 64;
  std::vector<uint8_t> source(bytes);
  std::iota(source.begin(), source.end(), uint8_t{1});
  std::vector<std::vector<uint8_t>> memory;
  std::vector<void*> destinations;
  for (size_t d = 0; d < num_destinations; ++d) {
    memory.emplace_back(bytes + 4 * kGuard, uint8_t{0});
    auto* start = memory.back().data() + kGuard;
    destinations.push_back(start + (kGuard - reinterpret_cast<uintptr_t>(start) % kGuard) + d * misalignment);
  }
  copy_to_all(destinations.data(), static_cast<int>(num_destinations), source.data(), bytes, streaming);
  for (size_t d = 0; d < num_destinations; ++d) {
    std::vector<uint8_t> expected(memory[d].size(), 0);
    std::copy(source.begin(), source.end(),
              expected.begin() + (static_cast<uint8_t*>(destinations[d]) - memory[d].data()));
    ASSERT_EQ(memory[d], expected) << bytes << " bytes, destination " << d << " of " << num_destinations
                                   << (streaming ? ", streaming" : "");
  }
}

TEST(CopyToAll, CopiesExactly) {
  for (const size_t bytes : {0, 1, 63, 64, 65, 255, 256, 1000, 4096, 70001})
    for (const size_t num_destinations : {1, 2, 3, 5})
      for (const size_t misalignment : {0, 1, 16})
        for (const bool streaming : {false, true})
          ASSERT_NO_FATAL_FAILURE(check_copy(bytes, num_destinations, misalignment, streaming));
}

TEST(CopyToAll, SourceMayBeADestination) {
  std::vector<uint8_t> source(1000), other(1000);
  std::iota(source.begin(), source.end(), uint8_t{1});
  const std::vector<uint8_t> before = source;
  void* const destinations[] = {source.data(), other.data()};
  copy_to_all(destinations, 1, source.data(), source.size(), false);
  copy_to_all(destinations, 2, source.data(), source.size(), false);
  EXPECT_EQ(source, before);
  EXPECT_EQ(other, before);
}

}  // namespace
}  // namespace wia
