// Every algorithm in the table, proved by the engine itself (verify/verify.hpp).
#include <gtest/gtest.h>

#include "algorithms/algorithm.hpp"
#include "verify/verify.hpp"

namespace wia {
namespace {

class TableAlgorithm : public ::testing::TestWithParam<int> {};

TEST_P(TableAlgorithm, IsProven) {
  const Algorithm* algorithm = &all_algorithms()[GetParam()];
  VerifyOptions options;
  options.ranks = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17};
  const std::vector<Proof> proofs = verify_all(std::span(&algorithm, 1), options);
  EXPECT_EQ(proofs[0].failure, "");
  EXPECT_EQ(proofs[0].proven, options.ranks);
}

INSTANTIATE_TEST_SUITE_P(Table, TableAlgorithm,
                         ::testing::Range(0, static_cast<int>(all_algorithms().size())),
                         [](const auto& tested) {
                           const Algorithm& algorithm = all_algorithms()[tested.param];
                           return std::string(name_of(algorithm.collective)) + "_" + algorithm.name;
                         });

}  // namespace
}  // namespace wia
