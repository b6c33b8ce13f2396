// Learning: on tables whose answer is known, and on what supercomputers measured.
#include "tune/learn.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "tune/cost_model.hpp"
#include "tune/folds.hpp"
#include "tune/report.hpp"
#include "tune/svm.hpp"
#include "tune/ways.hpp"

namespace wia {
namespace {

using testing::ElementsAre;

// Three classes, each with its latency and bandwidth: which is best follows from bytes and ranks.
CellTable example() {
  CellTable table;
  table.machine = "example";
  table.collective = Collective::all_gather;
  table.classes = {"fast start", "middle", "wide"};
  for (int ranks = 2; ranks <= 64; ranks *= 2)
    for (double bytes = 1024; bytes <= 1 << 26; bytes *= 4) {
      Cell cell;
      cell.call.bytes = bytes;
      cell.call.ranks = ranks;
      cell.seconds = {1e-6 * std::log2(ranks) + bytes * 8e-10, 4e-6 * std::log2(ranks) + bytes * 2e-10,
                      1e-6 * ranks + 2e-5 + bytes * 1e-10};
      table.cells.push_back(cell);
    }
  return table;
}

std::vector<size_t> all_of(const CellTable& table) {
  std::vector<size_t> all;
  for (size_t i = 0; i < table.cells.size(); ++i) all.push_back(i);
  return all;
}

TEST(Svm, DecidesAsLibsvmsFormulaSays) {
  const SvmProblem problem = {{{0, 0}, {1, 0}, {0, 1}, {1, 1}}, {1, -1, -1, 1}, {1, 1, 2, 1}};
  const SvmDecision decision = train_svm(problem, 100, 2);
  for (size_t i = 0; i < 4; ++i) {
    double value = decision.bias;
    for (size_t j = 0; j < 4; ++j) {
      const double x = problem.points[i][0] - problem.points[j][0],
                   y = problem.points[i][1] - problem.points[j][1];
      value += decision.weights[j] * std::exp(-2 * (x * x + y * y));
    }
    EXPECT_GT(value * problem.sides[i], 0.9) << i;
  }
  EXPECT_EQ(train_svm({{{0}, {1}}, {-1, -1}, {1, 1}}, 1, 1).bias, -1);
}

TEST(Folds, AreStratifiedAndRepeatable) {
  std::vector<size_t> labels;
  for (size_t i = 0; i < 53; ++i) labels.push_back(i % 7 == 0 ? 0 : i % 3);
  const auto parts = stratified_parts(labels, 5, 3);
  EXPECT_EQ(parts, stratified_parts(labels, 5, 3));
  EXPECT_NE(parts, stratified_parts(labels, 5, 4));
  for (size_t label = 0; label < 3; ++label) {
    int counts[5] = {}, total = 0;
    for (size_t i = 0; i < labels.size(); ++i)
      if (labels[i] == label) ++counts[parts[i]], ++total;
    for (const int count : counts) EXPECT_TRUE(count == total / 5 || count == total / 5 + 1) << label;
  }
}

TEST(Learn, FindsWhatIsBest) {
  const CellTable table = example();
  const LearnedSelector selector(train(table, all_of(table), {}).model);
  const Score score =
      score_of(table, all_of(table), [&](const Cell& cell) { return selector.rank_classes(cell.call); });
  EXPECT_GE(score.accuracy_within, 0.97);
  EXPECT_LE(score.regret, 1.01);
  for (const Cell& cell : table.cells) {
    const auto candidates = selector.explain(cell.call);
    EXPECT_EQ(candidates[0].name, selector.choose(cell.call));
    EXPECT_EQ(candidates[0].name, table.classes[selector.rank_classes(cell.call)[0]]);
    EXPECT_GE(candidates[0].score, candidates[1].score);
  }
}

TEST(Learn, IsDeterministic) {
  const CellTable table = example();
  EXPECT_EQ(to_text(learn({table}, {})), to_text(learn({table}, {})));
}

TEST(Learn, TablesOfAlmostNothing) {
  CellTable table = example();
  table.cells.resize(1);
  const LearnedSelector one(train(table, {0}, {}).model);
  EXPECT_EQ(one.choose(table.cells[0].call), table.classes[table.cells[0].best()]);
  table.cells = example().cells;
  for (Cell& cell : table.cells) cell.seconds = {kUnknown, 2, 1};  // a class that was never measured
  const LearnedSelector sparse(train(table, all_of(table), {}).model);
  EXPECT_EQ(sparse.choose(table.cells[5].call), "wide");
}

TEST(CostModel, FindsWhatTimesWereMadeOf) {
  CellTable table = example();
  for (Cell& cell : table.cells) {
    const double ranks = cell.call.ranks;  // no node is told: each rank is one
    cell.seconds = {2e-6 + 3e-6 * (ranks - 1) + 1e-10 * cell.call.bytes * (ranks - 1) / ranks,
                    5e-6 + 4e-6 * std::log2(ranks) + 3e-10 * cell.call.bytes * (ranks - 1) / ranks, kUnknown};
  }
  table.cells[7].seconds[0] *= 100;  // an accident
  const CostModel model = fit_costs(table, all_of(table));
  for (size_t i = 0; i < table.cells.size(); ++i) {
    const Cell& cell = table.cells[i];
    EXPECT_NEAR(model.seconds(cell.call, 0) / cell.seconds[0], i == 7 ? 0.01 : 1, 0.02) << i;
    EXPECT_NEAR(model.seconds(cell.call, 1) / cell.seconds[1], 1, 0.02) << i;
  }
  EXPECT_EQ(cheapest(table, all_of(table))(table.cells[0]).back(), 2u);
}

// A class that is best within a node alone.
TEST(Learn, OneNodeSaysLittleOfSeveral) {
  CellTable table = example();
  for (Cell& cell : table.cells) {
    cell.call.ranks_per_node = 2;
    cell.seconds = {cell.call.ranks == 2 ? 1.0 : 20.0, 2, 3};
  }
  std::vector<size_t> known;
  for (size_t i = 0; i < table.cells.size(); ++i)
    if (table.cells[i].call.ranks != 4) known.push_back(i);
  const LearnedSelector selector(train(table, known, {}).model);
  for (const Cell& cell : table.cells)
    EXPECT_EQ(selector.choose_class(cell.call), cell.best()) << cell.call.ranks << " " << cell.call.bytes;
}

TEST(Ways, ChooseAsTheyAreNamed) {
  CellTable table = example();
  for (Cell& cell : table.cells) cell.seconds[0] = kUnknown;
  EXPECT_THAT(always(2, 3)(table.cells[0]), ElementsAre(2, 0, 1));
  EXPECT_EQ(choice_in(table.cells[0], always(0, 3)(table.cells[0])), 1u);
  const auto all = all_of(table);
  EXPECT_EQ(score_of(table, all, nearest(table, all)).accuracy, 1);
  table.classes = {"vendor", "other", "hierarchical"};
  Cell& cell = table.cells[0];
  cell.call.bytes = 1 << 20;
  EXPECT_THAT(by_standard(table, 0)(cell), ElementsAre(2, 0, 1));
  cell.call.nodes = 1;
  EXPECT_THAT(by_standard(table, 0)(cell), ElementsAre(0, 1, 2));
  EXPECT_GE(score_of(table, all, always(best_fixed(table, all), 3)).regret, 1);
}

std::string shared_timings() { return WIA_SOURCE_DIR "/../shared/data/supercomputer_timings.csv"; }

// The figures of docs/tuning.md. What is held out is seen by no step of the training.
TEST(Learn, SupercomputersAsWellAsPublished) {
  if (!std::ifstream(shared_timings())) GTEST_SKIP() << shared_timings() << " is not there";
  auto timings = read_timings(shared_timings());
  ASSERT_TRUE(timings.ok()) << timings.status().text();
  for (Timing& row : timings->rows) row.call.ranks_per_node = row.machine == "frontier" ? 8 : 4;
  const auto tables = cells_of(*timings);
  ASSERT_EQ(tables.size(), 3u);
  const double wanted[] = {0.85, 0.90, 0.909};
  for (size_t i = 0; i < 3; ++i) {
    const TableReport report = report_on(tables[i], {});
    const auto& learned = report.ways[0].splits;
    const Spread within = spread_of(learned, &Score::accuracy_within);
    const double regret = geometric_mean(learned, &Score::regret);
    // Two standard errors of the mean over the splits are left to luck.
    const double luck = 2 * within.deviation / std::sqrt(static_cast<double>(learned.size()));
    EXPECT_GE(within.mean + luck, wanted[i]) << tables[i].machine << name_of(tables[i].collective);
    EXPECT_LE(regret, 1.03) << tables[i].machine << name_of(tables[i].collective);
    for (const WayReport& way : report.ways) {
      if (way.name != "best fixed" && !way.name.starts_with("always")) continue;
      EXPECT_LT(regret - 1, (geometric_mean(way.splits, &Score::regret) - 1) / 2) << way.name;
    }
    RecordProperty(tables[i].machine + "_" + std::string(name_of(tables[i].collective)),
                   std::to_string(regret));
  }
}

}  // namespace
}  // namespace wia
