#include "dispatch/online_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace wia {
namespace {

std::vector<Tactic> candidates(size_t count) {
  std::vector<Tactic> all;
  for (const char* name : {"ring", "two_phase", "direct"})
    if (all.size() < count) all.push_back(parse_tactic(Collective::all_reduce, name).value());
  return all;
}

// Ranks that see different times, with the agreement in between.
struct Ranks {
  explicit Ranks(size_t count, size_t of = 3) {
    for (size_t r = 0; r < count; ++r) all.push_back(std::make_unique<OnlineChoice>(candidates(of)));
  }
  // `time`: of a candidate on a rank. Gives the candidate that was called.
  template <class Time>
  size_t call(Time time) {
    std::vector<OnlineChoice::Turn> turns;
    for (auto& one : all) turns.push_back(one->next());
    for (size_t r = 0; r < all.size(); ++r) {
      EXPECT_EQ(turns[r].candidate, turns[0].candidate);
      EXPECT_EQ(turns[r].tell, turns[0].tell);
      EXPECT_EQ(turns[r].change, turns[0].change);
    }
    if (turns[0].tell) {
      ++told;
      OnlineChoice::Times most = all[0]->told();
      for (auto& one : all)
        for (size_t c = 0; c < most.size(); ++c) most[c] = std::max(most[c], one->told()[c]);
      for (auto& one : all) one->heard() = most;
    }
    if (turns[0].change)
      for (auto& one : all) one->decide();
    for (size_t r = 0; r < all.size(); ++r) all[r]->took(turns[r].candidate, time(turns[r].candidate, r));
    return turns[0].candidate;
  }
  std::vector<std::unique_ptr<OnlineChoice>> all;
  int told = 0;
};

TEST(OnlineChoice, FindsTheFasterOneOnAllRanksAtOnce) {
  Ranks ranks(4);
  const auto time = [](size_t candidate, size_t rank) { return (candidate == 1 ? 5.0 : 10.0) + 0.1 * rank; };
  for (int i = 0; i < 100; ++i) ranks.call(time);
  for (auto& one : ranks.all) EXPECT_EQ(one->choice(), 1u);
}

TEST(OnlineChoice, TheSlowestRankCounts) {
  Ranks ranks(4);
  // Faster on all but one rank.
  const auto time = [](size_t candidate, size_t rank) {
    return candidate == 0 ? 10.0 : rank == 2 ? 20.0 : 1.0;
  };
  for (int i = 0; i < 10000; ++i) ranks.call(time);
  for (auto& one : ranks.all) EXPECT_EQ(one->choice(), 0u);
}

TEST(OnlineChoice, NearTiesChangeNothing) {
  Ranks ranks(2);
  for (int i = 0; i < 10000; ++i)
    ranks.call([](size_t candidate, size_t) { return candidate == 0 ? 10.0 : 9.8; });
  EXPECT_EQ(ranks.all[0]->choice(), 0u);
}

TEST(OnlineChoice, TrialsAreFew) {
  Ranks ranks(2);
  int trials = 0;
  constexpr int kCalls = 100000;
  for (int i = 0; i < kCalls; ++i) trials += ranks.call([](size_t, size_t) { return 1.0; }) != 0;
  EXPECT_LE(trials, 6 * (kCalls / 4096 + 5));
  EXPECT_LE(ranks.told, kCalls / 4096 + 5);
}

TEST(OnlineChoice, FollowsAMachineThatChanges) {
  Ranks ranks(2, 2);
  for (int i = 0; i < 5000; ++i)
    ranks.call([](size_t candidate, size_t) { return candidate == 0 ? 1.0 : 2.0; });
  EXPECT_EQ(ranks.all[0]->choice(), 0u);
  for (int i = 0; i < 10000; ++i)
    ranks.call([](size_t candidate, size_t) { return candidate == 0 ? 4.0 : 2.0; });
  EXPECT_EQ(ranks.all[0]->choice(), 1u);
}

// Calls that are still under way when times are told have none.
TEST(OnlineChoice, WithoutTimesNothingChanges) {
  OnlineChoice choice(candidates(2));
  for (int i = 0; i < 1000; ++i) {
    const auto turn = choice.next();
    if (turn.tell) choice.heard() = choice.told();
    if (turn.change) choice.decide();
    if (turn.candidate == 1) choice.took(1, 1);
  }
  EXPECT_EQ(choice.choice(), 0u);
}

}  // namespace
}  // namespace wia
