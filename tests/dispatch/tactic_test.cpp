#include "dispatch/tactic.hpp"

#include <gtest/gtest.h>

namespace wia {
namespace {

TEST(Tactic, IsReadAndNamed) {
  for (const char* name : {"ring", "ring/slice=64K", "ring/nics=1", "ring/slice=1000/nics=2",
                           "hierarchical:direct:ring/slice=1M"}) {
    auto tactic = parse_tactic(Collective::all_reduce, name);
    ASSERT_TRUE(tactic) << tactic.status().text();
    EXPECT_EQ(name_of(tactic.value()), name);
  }
  auto tactic = parse_tactic(Collective::all_reduce, "two_phase/nics=3/slice=2K");
  ASSERT_TRUE(tactic);
  EXPECT_STREQ(tactic->algorithm->name, "two_phase");
  EXPECT_EQ(tactic->slice_bytes, 2048u);
  EXPECT_EQ(tactic->nics, 3);
}

TEST(Tactic, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> wrong[] = {{"rings", "rings"},
                                                       {"", "algorithm"},
                                                       {"ring/", "slice=SIZE"},
                                                       {"ring/slice=", "64 to 1T"},
                                                       {"ring/slice=63", "slice=63"},
                                                       {"ring/slice=2T", "slice=2T"},
                                                       {"ring/nics=0", "1 to 1024"},
                                                       {"ring/nics=x", "nics=x"},
                                                       {"ring/slice=1K/slice=1K", "slice=1K"},
                                                       {"ring/lanes=2", "lanes=2"}};
  for (const auto& [name, text] : wrong) {
    auto tactic = parse_tactic(Collective::all_reduce, name);
    ASSERT_FALSE(tactic) << name;
    EXPECT_NE(tactic.status().text().find(text), std::string::npos) << tactic.status().text();
  }
}

}  // namespace
}  // namespace wia
