// PCCL's two forms: how their latency grows with the nodes.
#include <gtest/gtest.h>

#include "simulate/simulation.hpp"

namespace wia {
namespace {

double time_us(const std::string& algorithm, int ranks) {
  auto model = find_machine_model("frontier");
  EXPECT_TRUE(model.ok());
  auto result = simulate(*model, {Collective::all_gather, ranks, uint64_t{4} * static_cast<uint64_t>(ranks)},
                         algorithm);
  EXPECT_TRUE(result.ok()) << result.status().text();
  return result.ok() ? result->end.us : 0;
}

TEST(Pccl, AsPublishedGrowsWithTheLogarithmOfTheNodes) {
  const double first = time_us("pccl", 256) - time_us("pccl", 128),
               second = time_us("pccl", 512) - time_us("pccl", 256);
  EXPECT_GT(first, 0);
  EXPECT_NEAR(second, first, 0.1 * first);
}

TEST(Pccl, WithARingAcrossNodesGrowsWithTheNodes) {
  const double first = time_us("pccl_ring", 256) - time_us("pccl_ring", 128),
               second = time_us("pccl_ring", 512) - time_us("pccl_ring", 256);
  EXPECT_NEAR(second, 2 * first, 0.1 * first);
  EXPECT_GT(first, time_us("pccl", 256) - time_us("pccl", 128));
}

}  // namespace
}  // namespace wia
