// Where runs are expensive each case leaves variants out; together the cases leave out nothing.
#include "verify/case.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace wia {
namespace {

using Seeds = std::map<std::string, std::set<uint64_t>>;

// The variants, told apart by their seeds 1, 2, ..., of each case. Cases that differ in the number of ranks
// or in the root alone are one here.
Seeds seeds_of(const Algorithm& algorithm, const std::vector<int>& ranks) {
  Seeds seeds;
  for (const int count : ranks) {
    for (Case& one : cases_of(algorithm, count)) {
      const std::vector<Variant> variants = variants_of(one);
      one.shape.ranks = one.shape.root = 0;
      for (const Variant& variant : variants) seeds[one.text()].insert(variant.seed);
    }
  }
  return seeds;
}

// No number up to the largest is missing anywhere.
void expect_all(const Seeds& seeds, uint64_t largest) {
  for (const auto& [text, some] : seeds)
    for (uint64_t seed = 1; seed <= largest; ++seed)
      EXPECT_TRUE(some.contains(seed)) << text << ": variant " << seed;
}

uint64_t largest_of(const Seeds& seeds) {
  uint64_t largest = 0;
  for (const auto& [text, some] : seeds) largest = std::max(largest, *some.rbegin());
  return largest;
}

template <class Test>
void with_every_algorithm(Test&& test) {
  for (const Algorithm& algorithm : all_algorithms()) {
    SCOPED_TRACE(std::string(name_of(algorithm.collective)) + " " + algorithm.name);
    test(algorithm);
  }
}

TEST(Cases, UpTo16RanksAllVariantsAreRun) {
  with_every_algorithm([](const Algorithm& algorithm) {
    for (const int ranks : {2, 8, 9, 16}) {
      const Seeds seeds = seeds_of(algorithm, {ranks});
      expect_all(seeds, largest_of(seeds));
    }
  });
}

TEST(Cases, OnOneNodeAllVariantsAreRunUpTo33Ranks) {
  with_every_algorithm([](const Algorithm& algorithm) {
    for (const Case& one : cases_of(algorithm, 33)) {
      if (!one.layout.empty()) continue;
      EXPECT_EQ(variants_of(one).size(), variants_of(one).back().seed);
    }
  });
}

TEST(Cases, OnManyNodesAllVariantsAreRunWithThreeNumbersOfRanksInSuccession) {
  with_every_algorithm([](const Algorithm& algorithm) {
    for (const int ranks : {17, 22, 31}) {
      const Seeds seeds = seeds_of(algorithm, {ranks, ranks + 1, ranks + 2});
      expect_all(seeds, largest_of(seeds));
    }
  });
}

TEST(Cases, AllVariantsForManyRanksAreRunWithOneOfTheUsualNumbers) {
  with_every_algorithm([](const Algorithm& algorithm) {
    expect_all(seeds_of(algorithm, {48, 64, 100, 128}), largest_of(seeds_of(algorithm, {100, 128})));
  });
}

}  // namespace
}  // namespace wia
