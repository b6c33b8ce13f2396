#include "tune/report.hpp"

#include <algorithm>
#include <cmath>

#include "tune/folds.hpp"
#include "tune/ways.hpp"

namespace wia {
namespace {

using Indices = std::vector<size_t>;

// The scores of all ways on the cells held out, in the order of names_of.
std::vector<Score> scores_of(const CellTable& table, const Indices& known, const Indices& held_out,
                             const ReportOptions& options, uint64_t seed) {
  TrainOptions how = options.train;
  how.seed = seed;
  const LearnedSelector learned(train(table, known, how).model);
  const size_t classes = table.classes.size(), usual = table.class_of(options.default_class);
  std::vector<Score> scores = {
      score_of(table, held_out, [&](const Cell& cell) { return learned.rank_classes(cell.call); })};
  if (usual < classes) scores.push_back(score_of(table, held_out, always(usual, classes)));
  scores.push_back(score_of(table, held_out, always(best_fixed(table, known), classes)));
  scores.push_back(score_of(table, held_out, nearest(table, known)));
  if (usual < classes) scores.push_back(score_of(table, held_out, by_standard(table, usual)));
  scores.push_back(score_of(table, held_out, cheapest(table, known)));
  return scores;
}

std::vector<std::string> names_of(const CellTable& table, const ReportOptions& options) {
  std::vector<std::string> names = {"learned"};
  if (table.class_of(options.default_class) < table.classes.size())
    names.push_back("always " + options.default_class);
  names.insert(names.end(), {"best fixed", "nearest neighbour"});
  if (table.class_of(options.default_class) < table.classes.size()) names.push_back("standard's rules");
  names.push_back("cost model");
  return names;
}

// Trained with fewer ranks, tested with the most.
void extrapolate(const CellTable& table, const ReportOptions& options, TableReport& report) {
  double most = 0;
  for (const Cell& cell : table.cells) most = std::max(most, cell.call.ranks);
  Indices fewer, largest;
  for (size_t i = 0; i < table.cells.size(); ++i)
    (table.cells[i].call.ranks < most ? fewer : largest).push_back(i);
  if (fewer.empty()) return;
  report.extrapolated_ranks = most;
  report.extrapolated_cells = largest.size();
  const auto scores = scores_of(table, fewer, largest, options, options.seed);
  for (size_t w = 0; w < scores.size(); ++w) report.ways[w].extrapolation = scores[w];
}

}  // namespace

TableReport report_on(const CellTable& table, const ReportOptions& options) {
  constexpr int kParts = 5;
  TableReport report;
  report.cells = table.cells.size();
  for (const std::string& name : names_of(table, options)) report.ways.push_back({name, {}, {}});
  Indices best;
  for (const Cell& cell : table.cells) best.push_back(cell.best());
  for (int split = 0; split < options.splits; ++split) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(split);
    const std::vector<int> part = stratified_parts(best, kParts, seed);
    Indices known, held_out;
    for (size_t i = 0; i < part.size(); ++i) (part[i] == 0 ? held_out : known).push_back(i);
    if (known.empty() || held_out.empty()) continue;  // a table of very few cells
    const auto scores = scores_of(table, known, held_out, options, seed);
    for (size_t w = 0; w < scores.size(); ++w) report.ways[w].splits.push_back(scores[w]);
    if (report.held_out == 0) report.held_out = held_out.size();
    if (options.progress) options.progress(split + 1, options.splits);
  }
  extrapolate(table, options, report);
  return report;
}

Spread spread_of(const std::vector<Score>& scores, double Score::*figure) {
  Spread spread;
  if (scores.empty()) return spread;
  spread.least = spread.most = scores.front().*figure;
  double squares = 0;
  for (const Score& score : scores) {
    const double value = score.*figure;
    spread.mean += value;
    squares += value * value;
    spread.least = std::min(spread.least, value);
    spread.most = std::max(spread.most, value);
  }
  const auto count = static_cast<double>(scores.size());
  spread.mean /= count;
  spread.deviation = std::sqrt(std::max(0.0, squares / count - spread.mean * spread.mean));
  return spread;
}

double geometric_mean(const std::vector<Score>& scores, double Score::*figure) {
  double sum = 0;
  for (const Score& score : scores) sum += std::log(score.*figure);
  return scores.empty() ? 1 : std::exp(sum / static_cast<double>(scores.size()));
}

}  // namespace wia
