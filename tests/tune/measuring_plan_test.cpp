// What is measured next, on machines whose times are known.
#include "tune/measuring_plan.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <random>

namespace wia {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;
using testing::Not;
using testing::Pair;
using enum MeasuringPlan::Stand;

// Latency and bandwidth by class; times vary by a share of themselves, drawn alike.
class FakeMachine {
 public:
  struct Cost {
    double start_us, us_per_byte;
  };
  std::map<std::string, Cost> costs = {{"steady", {2, 1e-3}}, {"quick", {1, 2e-3}}, {"slow", {50, 9e-3}}};
  std::string untuned = "steady";
  std::string refused;
  double noise = 0.01;
  double clock_s = 0;
  std::map<std::string, int> looks;                    // by class
  std::vector<std::pair<std::string, double>> visits;  // collective and bytes, round by round

  MeasuredCell make(Collective collective, double bytes) const {
    MeasuredCell cell;
    cell.collective = collective;
    cell.call.bytes = bytes;
    cell.call.ranks = 4;
    cell.classes.push_back({.name = untuned});
    for (const auto& [name, cost] : costs)
      if (name != untuned && name.find('/') == std::string::npos) cell.classes.push_back({.name = name});
    return cell;
  }
  std::vector<MeasuredCell> cells(const std::vector<Collective>& collectives,
                                  const std::vector<double>& sizes) const {
    std::vector<MeasuredCell> cells;
    for (const Collective collective : collectives)
      for (const double bytes : sizes) cells.push_back(make(collective, bytes));
    return cells;
  }
  MeasuringPlan plan(const std::vector<MeasuredCell>& cells, MeasuringPlan::Options options) const {
    return MeasuringPlan(
        cells, [this](Collective c, double bytes) { return make(c, bytes); }, std::move(options));
  }
  // Until the plan has enough or the time has passed; false: it has passed.
  bool run(MeasuringPlan& plan, double budget_s) {
    while (const auto round = plan.next(budget_s - clock_s)) {
      const MeasuredCell cell = plan.cells()[round->cell];
      visits.emplace_back(name_of(cell.collective), cell.call.bytes);
      for (const size_t which : round->classes) {
        const std::string& name = cell.classes[which].name;
        ++looks[name];
        if (name == refused) {
          plan.refuse(round->cell, which);
          continue;
        }
        const double us = costs.at(name).start_us + costs.at(name).us_per_byte * cell.call.bytes;
        clock_s += std::max(us * 1e-6, plan.look_s());
        plan.add(round->cell, which, us * (1 + noise * (2 * uniform_(random_) - 1)));
      }
    }
    return clock_s < budget_s;
  }

 private:
  std::mt19937 random_{7};
  std::uniform_real_distribution<double> uniform_{0, 1};
};

const std::vector<double> kSizes = {8, 128, 512, 2048, 8192, 32768, 131072, 524288};

std::map<double, std::string> choices(const MeasuringPlan& plan) {
  std::map<double, std::string> by_size;
  for (const MeasuredCell& cell : plan.cells())
    if (cell.measured()) by_size[cell.call.bytes] = cell.choice().name;
  return by_size;
}

TEST(MeasuringPlan, FindsWhatIsFasterAndStops) {
  FakeMachine machine;
  MeasuringPlan plan = machine.plan(machine.cells({Collective::all_reduce}, kSizes), {60, {}, false});
  EXPECT_TRUE(machine.run(plan, 60));
  EXPECT_LT(machine.clock_s, 5);
  for (const auto& [bytes, name] : choices(plan)) EXPECT_EQ(name, bytes < 1000 ? "quick" : "steady") << bytes;
  for (const size_t i : plan.asked()) EXPECT_EQ(plan.stand(i), decided);
  // One look was enough for what is far off, and at most sizes not even that.
  EXPECT_LE(machine.looks["slow"], 4);
}

TEST(MeasuringPlan, DifferencesWithinTheNoiseChangeNothing) {
  FakeMachine machine;
  machine.costs = {{"one", {10, 1e-3}}, {"other", {9.9, 1e-3}}, {"third", {10.3, 1e-3}}};
  machine.untuned = "one";
  MeasuringPlan plan = machine.plan(machine.cells({Collective::all_reduce}, kSizes), {60, {}, true});
  EXPECT_TRUE(machine.run(plan, 60));
  for (const auto& [bytes, name] : choices(plan)) EXPECT_EQ(name, "one") << bytes;
}

TEST(MeasuringPlan, WhatMattersMostComesFirstAndTheRestIsLeftOut) {
  FakeMachine machine;
  MeasuringPlan plan =
      machine.plan(machine.cells({Collective::gather, Collective::all_reduce, Collective::barrier}, kSizes),
                   {0.03, {}, true});
  machine.run(plan, 0.03);
  EXPECT_LE(machine.clock_s, 0.035);
  EXPECT_EQ(machine.visits.front(), std::pair(std::string("all_reduce"), 8.0));
  EXPECT_THAT(machine.visits, Contains(Pair("all_reduce", 524288)));
  std::map<MeasuringPlan::Stand, int> stands;
  for (const size_t i : plan.asked()) ++stands[plan.stand(i)];
  EXPECT_GT(stands[decided], 0);
  EXPECT_GT(stands[not_measured], 0);
}

TEST(MeasuringPlan, ARoundThatIsTooLongIsLeftOut) {
  FakeMachine machine;
  MeasuringPlan plan =
      machine.plan(machine.cells({Collective::all_reduce}, {8, 65536, 1 << 30}), {1, {}, false});
  machine.run(plan, 1);
  EXPECT_EQ(plan.stand(plan.asked().back()), too_long);
  EXPECT_FALSE(plan.cells().back().measured());
  EXPECT_TRUE(plan.cells().front().measured());
}

TEST(MeasuringPlan, AddsSizesBetweenDifferentChoices) {
  FakeMachine machine;
  MeasuringPlan plan = machine.plan(machine.cells({Collective::all_reduce}, {32, 512, 8192}), {60, {}, true});
  EXPECT_TRUE(machine.run(plan, 60));
  EXPECT_THAT(choices(plan), ElementsAre(Pair(32, "quick"), Pair(512, "quick"), Pair(1024, "steady"),
                                         Pair(2048, "steady"), Pair(8192, "steady")));
}

TEST(MeasuringPlan, TriesEndingsOfTheBestAtLargeSizes) {
  FakeMachine machine;
  machine.costs["steady/slice=1M"] = {2, 5e-4};
  machine.costs["quick/slice=1M"] = {1, 3e-3};
  MeasuringPlan plan = machine.plan(machine.cells({Collective::all_reduce}, {8, 1 << 20, 1 << 24}),
                                    {60, {"/slice=1M"}, false});
  EXPECT_TRUE(machine.run(plan, 60));
  EXPECT_THAT(choices(plan), ElementsAre(Pair(8, "quick"), Pair(1 << 20, "steady/slice=1M"),
                                         Pair(1 << 24, "steady/slice=1M")));
}

TEST(MeasuringPlan, ARefusedClassIsNotTriedAgain) {
  FakeMachine machine;
  machine.refused = "quick";
  MeasuringPlan plan = machine.plan(machine.cells({Collective::all_reduce}, {8, 128}), {60, {}, false});
  EXPECT_TRUE(machine.run(plan, 60));
  EXPECT_EQ(machine.looks["quick"], 2);
  EXPECT_THAT(choices(plan), ElementsAre(Pair(8, "steady"), Pair(128, "steady")));
}

TEST(MeasuringPlan, WhatTheModelPricesFarOffIsNotMeasured) {
  FakeMachine machine;
  auto cells = machine.cells({Collective::all_reduce}, {8, 128});
  for (MeasuredCell& cell : cells)
    for (MeasuredClass& one : cell.classes)
      one.predicted_us = one.name == "quick" ? 5 : one.name == "slow" ? 21 : 20;
  MeasuringPlan plan = machine.plan(cells, {60, {}, false});
  EXPECT_TRUE(machine.run(plan, 60));
  EXPECT_EQ(machine.looks["slow"], 0);
  EXPECT_GE(machine.looks["steady"], 3);
}

TEST(MeasuringPlan, GoesOnFromAFile) {
  FakeMachine machine;
  MeasuringPlan first =
      machine.plan(machine.cells({Collective::all_reduce, Collective::gather}, {8, 128}), {60, {}, false});
  EXPECT_TRUE(machine.run(first, 60));
  const Tuning before = tuning_of(first.cells(), "fake", {});
  machine.visits.clear();
  MeasuringPlan second = machine.plan(machine.cells({Collective::all_reduce}, {128, 8192}), {60, {}, false});
  second.take_over(before);
  EXPECT_TRUE(machine.run(second, 60));
  EXPECT_THAT(machine.visits, Each(Pair("all_reduce", 8192)));  // the others are decided
  // What was not asked for is kept.
  const Tuning after = tuning_of(second.cells(), "fake", {});
  ASSERT_EQ(after.collectives.size(), 2u);
  ASSERT_EQ(after.collectives[0].cells.size(), 3u);
  EXPECT_EQ(after.collectives[0].cells[0].rounds_us, before.collectives[0].cells[0].rounds_us);
  EXPECT_EQ(after.collectives[1].cells, before.collectives[1].cells);
  EXPECT_EQ(second.asked().size(), 2u);
}

TEST(MeasuringPlan, AFileWithoutRoundsCountsAsOneRound) {
  FakeMachine machine;
  Tuning before;
  CollectiveTuning& tuning = before.collectives.emplace_back();
  tuning.collective = Collective::all_reduce;
  tuning.learned.classes = {"quick", "other", "ring/slice=16K"};
  tuning.cells.push_back({machine.make(Collective::all_reduce, 8).call, {1.5, 9, 2}});
  MeasuringPlan plan = machine.plan(machine.cells({Collective::all_reduce}, {8}), {60, {}, false});
  plan.take_over(before);
  const MeasuredCell cell = plan.cells().at(0);
  EXPECT_THAT(cell.find("quick")->rounds_us, ElementsAre(1.5));
  EXPECT_THAT(cell.find("ring/slice=16K")->rounds_us, ElementsAre(2));
  EXPECT_EQ(cell.find("other"), nullptr);  // no algorithm of this version
}

MeasuredClass measured(const std::string& name, std::vector<double> rounds) {
  return {.name = name, .rounds_us = std::move(rounds)};
}

TEST(Measured, FasterIsWhatIsFasterBeyondTheSpread) {
  const auto faster = [](std::vector<double> one, std::vector<double> other) {
    return clearly_faster(measured("", std::move(one)), measured("", std::move(other)));
  };
  EXPECT_TRUE(faster({8, 8.5, 9}, {10, 10, 10}));
  EXPECT_FALSE(faster({8, 8.5}, {10, 10, 10}));         // too few rounds
  EXPECT_FALSE(faster({9.8, 9.8, 9.8}, {10, 10, 10}));  // too little
  EXPECT_FALSE(faster({8, 8.5, 12}, {10, 10, 10}));     // three rounds have to agree
  EXPECT_TRUE(faster({8, 8, 8, 8, 8, 8, 8, 12}, {10, 10, 10, 10, 10, 10, 10, 9}));  // one accident may not
}

TEST(Measured, OfEqualsTheFirstIsTheChoice) {
  MeasuredCell cell;
  cell.classes = {measured("rule", {10, 10, 10}), measured("plain", {5.05, 5.1, 5.1}),
                  measured("plain/slice=16K", {5, 5, 5}), measured("lucky", {1, 1})};
  EXPECT_EQ(cell.choice().name, "plain");
  cell.classes[1].rounds_us = {5.2, 5.2, 5.2};
  EXPECT_EQ(cell.choice().name, "plain/slice=16K");
}

TEST(Measured, InTheFileTheChoiceIsTheFastest) {
  MeasuredCell cell;
  cell.call.bytes = 8;
  cell.call.ranks = 2;
  cell.classes = {measured("rule", {10, 10, 10}), measured("lucky", {9, 9, 12}), measured("never", {})};
  MeasuredCell other = cell;
  other.call.bytes = 4096;
  other.classes[1].rounds_us = {5, 5, 5.25};
  const Tuning tuning = tuning_of({other, cell}, "here", {});
  ASSERT_EQ(tuning.collectives.size(), 1u);
  const CollectiveTuning& one = tuning.collectives[0];
  EXPECT_THAT(one.learned.classes, ElementsAre("lucky", "rule"));
  ASSERT_EQ(one.cells.size(), 2u);
  EXPECT_EQ(one.cells[0].call.bytes, 8);
  EXPECT_DOUBLE_EQ(*one.cells[0].times_us[0], 10 * 1.001);
  EXPECT_EQ(one.cells[0].times_us[1], 10);
  EXPECT_EQ(one.cells[1].times_us[0], 5);
  EXPECT_THAT(one.cells[0].rounds_us,
              ElementsAre(Pair("lucky", ElementsAre(9, 9, 12)), Pair("rule", ElementsAre(10, 10, 10))));
  auto again = tuning_from_text(to_text(tuning), "text");
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(*again, tuning);
}

TEST(Measured, OneClassAloneCanBeWrittenAndRead) {
  MeasuredCell cell;
  cell.call.bytes = 8;
  cell.call.ranks = 2;
  cell.classes = {measured("rule", {10})};
  const Tuning tuning = tuning_of({cell}, "here", {});
  for (const LearnedModel::Svm& svm : tuning.collectives.at(0).learned.svms)
    EXPECT_THAT(svm.vectors, IsEmpty());
  auto again = tuning_from_text(to_text(tuning), "text");
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(LearnedSelector(again->collectives[0].learned).choose(cell.call), "rule");
}

}  // namespace
}  // namespace wia
