// The cost model against closed forms, and who decides when.
#include "dispatch/selectors.hpp"

#include <gtest/gtest.h>

#include "dispatch/dispatcher.hpp"

namespace wia {
namespace {

Group ranks_on(int ranks, int nodes) {
  Group group;
  group.ranks = ranks;
  for (int r = 0; r < ranks; ++r) group.nodes.push_back(r * nodes / ranks);
  group.units = {group.nodes};
  return group;
}

// Powers of two, so that sums are exact.
MachineCosts costs() {
  MachineCosts costs;
  costs.node = {2, 1};
  costs.network = WayCost{16, 0.5};
  costs.node_network_GBps = 0;
  costs.reduce_GBps = 4;
  costs.message_us = 0;
  return costs;
}

double price_us(Collective collective, const char* algorithm, const Group& group, size_t bytes,
                double slices = 1) {
  auto price = Price::of(**find_algorithm(collective, algorithm), group, costs());
  EXPECT_TRUE(price) << price.status().text();
  return price->time_us(bytes, slices);
}

constexpr size_t kBytes = 1 << 20;
constexpr double kUs = kBytes * 1e-3;  // at 1 GB/s

TEST(Price, RingIsItsStepsAndItsBytes) {
  EXPECT_DOUBLE_EQ(price_us(Collective::all_gather, "ring", ranks_on(8, 1), kBytes), 7 * 2 + kUs * 7 / 8);
  // All neighbours but those of a node are across the network, and every round waits for them.
  EXPECT_DOUBLE_EQ(price_us(Collective::all_gather, "ring", ranks_on(8, 8), kBytes),
                   7 * 16 + kUs * 2 * 7 / 8);
}

TEST(Price, DoublingTakesTheLogarithm) {
  EXPECT_DOUBLE_EQ(price_us(Collective::all_reduce, "recursive_doubling", ranks_on(8, 1), kBytes),
                   3 * 2 + 3 * (kUs + kUs / 4));
}

TEST(Price, DirectIsOneRoundAndTheLoadOfARank) {
  EXPECT_DOUBLE_EQ(price_us(Collective::all_gather, "direct", ranks_on(8, 1), kBytes), 2 + kUs * 7 / 8);
}

TEST(Price, SlicesFillAChain) {
  const Group group = ranks_on(8, 1);
  const double whole = price_us(Collective::broadcast, "chain", group, kBytes),
               sliced = price_us(Collective::broadcast, "chain", group, kBytes, 7);
  EXPECT_DOUBLE_EQ(whole, 7 * 2 + 7 * kUs);
  EXPECT_DOUBLE_EQ(sliced, 7 * 2 + kUs + 6 * kUs / 7);
  MachineCosts with_overhead = costs();
  with_overhead.message_us = 1;
  auto price = Price::of(**find_algorithm(Collective::broadcast, "chain"), group, with_overhead);
  ASSERT_TRUE(price);
  const double best = price->best_slices(kBytes);
  EXPECT_GT(best, 1);
  EXPECT_LT(price->time_us(kBytes, best), price->time_us(kBytes, best / 2));
  EXPECT_LT(price->time_us(kBytes, best), price->time_us(kBytes, best * 2));
}

TEST(Price, ANodesNicsAreShared) {
  MachineCosts shared = costs();
  shared.node_network_GBps = 0.5;
  auto alone = Price::of(**find_algorithm(Collective::all_gather, "direct"), ranks_on(8, 2), costs()),
       together = Price::of(**find_algorithm(Collective::all_gather, "direct"), ranks_on(8, 2), shared);
  ASSERT_TRUE(alone && together);
  // Each rank takes 4 blocks from the other node; a node, 16.
  EXPECT_DOUBLE_EQ(alone->time_us(kBytes, 1), 16 + kUs / 8 * 4 * 2);
  EXPECT_DOUBLE_EQ(together->time_us(kBytes, 1), 16 + kUs / 8 * 16 * 2);
}

// A chain wants many slices where messages cost little, few where they cost much.
TEST(ModelSelector, SlicesFollowThePipelineFormula) {
  const auto slice_of_chain = [](double message_us, double bytes) {
    MachineCosts machine = costs();
    machine.message_us = message_us;
    CallShape call;
    call.bytes = bytes;
    const ModelSelector model(Collective::broadcast, ranks_on(8, 1), machine);
    for (const auto& prediction : model.predict(call))
      if (prediction.tactic.starts_with("chain"))
        return parse_tactic(Collective::broadcast, prediction.tactic)->slice_bytes;
    return size_t{1};
  };
  EXPECT_EQ(slice_of_chain(1, 1 << 20), size_t{16} << 10);
  EXPECT_EQ(slice_of_chain(100, 64 << 20), size_t{1} << 20);
}

TEST(ModelSelector, AcrossNodesLittleCrosses) {
  MachineCosts shared = costs();
  shared.node_network_GBps = 0.5;
  const ModelSelector model(Collective::all_reduce, ranks_on(16, 4), shared);
  CallShape call;
  call.bytes = 64 << 20;
  EXPECT_TRUE(model.choose(call).starts_with("hierarchical")) << model.choose(call);
  const auto predictions = model.predict(call);
  for (size_t i = 1; i < predictions.size(); ++i)
    EXPECT_LE(predictions[i - 1].time_us, predictions[i].time_us);
  EXPECT_EQ(model.explain(call).front().name, model.choose(call));
}

// Two sizes, two tactics.
std::shared_ptr<const Tuning> tuning_for(double ranks) {
  auto tuning = std::make_shared<Tuning>();
  CollectiveTuning one;
  one.collective = Collective::all_reduce;
  one.learned.classes = {"ring", "two_phase/slice=32K"};
  LearnedModel::Svm& svm = one.learned.svms.emplace_back();
  svm.features = {{find_feature("log2_bytes"), 10, 20, 0.1}};
  svm.biases = {1};  // ring
  for (const double bytes : {1024.0, 4096.0, 1048576.0}) {
    CollectiveTuning::Cell cell;
    cell.call.bytes = bytes;
    cell.call.ranks = ranks;
    cell.call.nodes = 1;
    cell.times_us = {bytes > 1e6 ? 9.0 : 1.0, bytes > 1e6 ? 8.0 : 2.0};
    one.cells.push_back(cell);
  }
  tuning->collectives.push_back(one);
  return tuning;
}

TEST(Dispatcher, WhatWasMeasuredGoesFirst) {
  Dispatcher dispatcher(ranks_on(4, 1), tuning_for(4), Selection::automatic);
  EXPECT_EQ(name_of(dispatcher.choose({Collective::all_reduce, 1024, 4})), "ring");
  EXPECT_EQ(name_of(dispatcher.choose({Collective::all_reduce, 2048, 4})), "ring");
  EXPECT_EQ(name_of(dispatcher.choose({Collective::all_reduce, 1048576, 4})), "two_phase/slice=32K");
  EXPECT_EQ(name_of(dispatcher.choose({Collective::all_reduce, 65536, 4})), "ring") << "learned";
}

TEST(Dispatcher, RulesWhereNothingWasTuned) {
  const auto rules = [](const CallKind& kind) {
    return name_of(Dispatcher(ranks_on(4, 1), nullptr, Selection::automatic).choose(kind));
  };
  Dispatcher other_group(ranks_on(4, 1), tuning_for(8), Selection::automatic),
      tuned(ranks_on(4, 1), tuning_for(4), Selection::automatic),
      told(ranks_on(4, 1), tuning_for(4), Selection::rules);
  const CallKind reduce{Collective::all_reduce, 1024, 4}, gather{Collective::all_gather, 1024, 4};
  EXPECT_EQ(name_of(other_group.choose(reduce)), rules(reduce));
  EXPECT_EQ(name_of(tuned.choose(gather)), rules(gather));
  EXPECT_EQ(name_of(told.choose(reduce)), rules(reduce));
  const CallKind in_order{Collective::all_reduce, 1024, 4, true, true};
  EXPECT_EQ(name_of(tuned.choose(in_order)), rules(in_order));
}

TEST(Dispatcher, SaysWhoCounts) {
  Dispatcher dispatcher(ranks_on(4, 1), tuning_for(4), Selection::automatic);
  const auto opinions = dispatcher.explain({Collective::all_reduce, 1048576, 4});
  ASSERT_EQ(opinions.size(), 3u);
  EXPECT_FALSE(opinions[0].counts || opinions[1].counts);
  EXPECT_TRUE(opinions[2].counts);
  EXPECT_EQ(opinions[2].candidates.front().name, "two_phase/slice=32K");
  EXPECT_NE(opinions[2].candidates.front().reason.find("measured 8.00 us"), std::string::npos);
}

TEST(Dispatcher, ForeignClassesAreRefused) {
  auto tuning = std::make_shared<Tuning>(*tuning_for(4));
  tuning->collectives[0].learned.classes = {"ring", "vendor"};
  const Status status = check_tactics(*tuning, "t.json");
  EXPECT_NE(status.text().find("t.json: class vendor of all_reduce"), std::string::npos) << status.text();
  EXPECT_TRUE(check_tactics(*tuning_for(4), "t.json").ok());
}

}  // namespace
}  // namespace wia
