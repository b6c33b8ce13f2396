// Levels of the machine from what ranks say of their places.
#include "communicator/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wia {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two nodes of four ranks, on two NUMA domains each, below one switch each.
std::vector<RankPlace> places() {
  std::vector<RankPlace> all;
  for (int rank = 0; rank < 8; ++rank)
    all.push_back({rank / 4 * 4, rank / 2 % 2, rank < 4 ? "leaf1" : "leaf2"});
  return all;
}

TEST(Units, WithoutAWordAreNodes) {
  EXPECT_THAT(units_of("", places()).value(), ElementsAre(ElementsAre(0, 0, 0, 0, 1, 1, 1, 1)));
}

TEST(Units, OfNumaDomainsLieInNodes) {
  EXPECT_THAT(units_of("numa,node", places()).value(),
              ElementsAre(ElementsAre(0, 0, 1, 1, 2, 2, 3, 3), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1)));
}

TEST(Units, OfSwitchesAndNumbersOfRanks) {
  EXPECT_THAT(units_of("1,2,node,switch,8", places()).value(),
              ElementsAre(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3),
                          ElementsAre(0, 0, 0, 0, 1, 1, 1, 1), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1),
                          ElementsAre(0, 0, 0, 0, 0, 0, 0, 0)));
}

TEST(Units, ThatCannotBeAreRefused) {
  EXPECT_THAT(units_of("numa,switch", places()).status().text(), HasSubstr("\"node\""));
  EXPECT_THAT(units_of("node,numa", places()).status().text(), HasSubstr("ranks 0 and 2"));
  EXPECT_THAT(units_of("3,node", places()).status().text(), HasSubstr("ranks 3 and 4"));
  EXPECT_THAT(units_of("socket,node", places()).status().text(), HasSubstr("\"socket\""));
  EXPECT_THAT(units_of("0,node", places()).status().text(), HasSubstr("\"0\""));
  EXPECT_THAT(units_of("node,,8", places()).status().text(), HasSubstr("\"\""));
  EXPECT_THAT(units_of("1,1,1,1,1,node", places()).status().text(), HasSubstr("at most"));
}

TEST(Units, AmongSomeRanksAreNumberedAnew) {
  const auto units = units_of("numa,node", places()).value();
  EXPECT_THAT(units_among(units, {6, 7, 0}), ElementsAre(ElementsAre(0, 0, 1), ElementsAre(0, 0, 1)));
  EXPECT_THAT(units_among(units, {4, 7}), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(units_among(units, {4, 5}), ElementsAre());
}

}  // namespace
}  // namespace wia
