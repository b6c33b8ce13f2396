// Every algorithm, proved by the engine itself (verify/verify.hpp).
#include <gtest/gtest.h>

#include "tested.hpp"
#include "verify/verify.hpp"

namespace wia {
namespace {

class TableAlgorithm : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(TableAlgorithm, IsProven) {
  const Algorithm* algorithm = GetParam();
  VerifyOptions options;
  options.ranks = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17};
  const std::vector<Proof> proofs = verify_all(std::span(&algorithm, 1), options);
  EXPECT_EQ(proofs[0].failure, "");
  EXPECT_EQ(proofs[0].proven, options.ranks);
}

INSTANTIATE_TEST_SUITE_P(Table, TableAlgorithm, ::testing::ValuesIn(tested_algorithms()),
                         [](const auto& tested) { return test_name(*tested.param); });

}  // namespace
}  // namespace wia
