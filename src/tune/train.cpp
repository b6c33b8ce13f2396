#include "tune/train.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string_view>

#include "tune/folds.hpp"
#include "tune/svm.hpp"

namespace wia {
namespace {

using Indices = std::vector<size_t>;

// How far apart calls are: what a difference of 1, a factor of 2, counts in a feature. Features that are not
// named count 1.
struct Weight {
  std::string_view feature;
  double weight;
};
using Metric = std::span<const Weight>;

// What a choice hangs on differs: on bytes and ranks where latency and bandwidth are weighed, on the length
// of a block where a library underneath switches its protocol by it. Cross-validation tells which. One node
// and several are as far apart as sizes that differ by a factor of 256: the one says little of the other.
constexpr Weight kOneNode = {"several_nodes", 8};
constexpr Weight kCallSize[] = {{"log2_bytes", 1}, {"log2_ranks", 1}, {"log2_block_bytes", 0}, kOneNode};
constexpr Weight kBoth[] = {{"log2_bytes", 0.5}, {"log2_ranks", 0.5}, {"log2_block_bytes", 1}, kOneNode};
constexpr Weight kBlockSize[] = {{"log2_bytes", 0}, {"log2_ranks", 0.25}, {"log2_block_bytes", 1}, kOneNode};
constexpr Metric kMetrics[] = {kCallSize, kBoth, kBlockSize};

// Coarse steps by factors, as libsvm's guide advises, and few of them: each more is a chance to be taken in
// by luck.
constexpr double kCosts[] = {0x1p3, 0x1p6};
constexpr double kGammas[] = {0x1p-7, 0x1p-5, 0x1p-3, 0x1p-1};

double weight_of(Metric metric, const Feature& feature) {
  for (const Weight& one : metric)
    if (one.feature == feature.name) return one.weight;
  return 1;
}

// Whether the two say the same: one is the other times something plus something.
bool linear(const std::vector<double>& a, const std::vector<double>& b) {
  const auto [least, most] = std::minmax_element(a.begin(), a.end());
  const auto at = [&](auto i) { return b[static_cast<size_t>(i - a.begin())]; };
  const double slope = (at(most) - at(least)) / (*most - *least);
  for (size_t i = 0; i < a.size(); ++i)
    if (std::abs(at(least) + slope * (a[i] - *least) - b[i]) > 1e-9 * (1 + std::abs(b[i]))) return false;
  return true;
}

// All that are known in every cell and say something that no earlier one says.
std::vector<LearnedModel::Scaled> features_of(const CellTable& table, const Indices& cells, Metric metric) {
  std::vector<LearnedModel::Scaled> features;
  std::vector<std::vector<double>> kept;
  for (const Feature& feature : call_features()) {
    const double weight = weight_of(metric, feature);
    std::vector<double> values;
    for (const size_t i : cells) values.push_back(feature.value(table.cells[i].call));
    if (weight == 0 || std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }))
      continue;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    if (*least == *most) continue;
    if (std::any_of(kept.begin(), kept.end(), [&](const auto& other) { return linear(other, values); }))
      continue;
    features.push_back({&feature, *least, *most, weight});
    kept.push_back(std::move(values));
  }
  return features;
}

// How often a cell counts between two classes: once when one of them is the best there, and once more for
// each factor e (up to three) that the wrong one takes longer. So near-ties between others do not count, and
// where a mistake is dear it is avoided even at the price of some accuracy.
int repeats_of(const Cell& cell, size_t a, size_t b) {
  const double gap = std::abs(std::log(cell.seconds[a] / cell.seconds[b]));
  return (cell.best() == a || cell.best() == b) + static_cast<int>(std::lround(std::min(gap, 3.0)));
}

// All pairs of classes on some cells of a table, ready to be trained with any parameters.
class Trainer {
 public:
  Trainer(const CellTable& table, const Indices& cells, Metric metric)
      : table_(table), features_(features_of(table, cells, metric)) {
    for (size_t a = 0; a < table.classes.size(); ++a)
      for (size_t b = a + 1; b < table.classes.size(); ++b) add_pair(a, b, cells);
  }

  LearnedModel::Svm train(double cost, double gamma) const {
    LearnedModel::Svm model;
    model.features = features_;
    model.gamma = gamma;
    model.cost = cost;
    std::map<size_t, std::vector<double>> weights;  // by cell, by pair
    for (size_t p = 0; p < pairs_.size(); ++p) {
      const SvmDecision decision = train_svm(pairs_[p].svm, cost, gamma);
      model.biases.push_back(decision.bias);
      for (size_t i = 0; i < decision.weights.size(); ++i) {
        if (decision.weights[i] == 0) continue;
        auto& row = weights[pairs_[p].cells[i]];
        row.resize(pairs_.size());
        row[p] = decision.weights[i];
      }
    }
    for (auto& [cell, row] : weights) model.vectors.push_back({values_at(cell), std::move(row)});
    return model;
  }

 private:
  struct Pair {
    SvmProblem svm;
    Indices cells;  // by point
  };

  std::vector<double> values_at(size_t cell) const {
    std::vector<double> values;
    for (const auto& range : features_) values.push_back(range.feature->value(table_.cells[cell].call));
    return values;
  }

  void add_pair(size_t a, size_t b, const Indices& cells) {
    Pair& pair = pairs_.emplace_back();
    for (const size_t i : cells) {
      const Cell& cell = table_.cells[i];
      if (!cell.measured(a) || !cell.measured(b)) continue;
      const int repeats = repeats_of(cell, a, b);
      if (repeats == 0) continue;
      std::vector<double> point = values_at(i);
      for (size_t f = 0; f < point.size(); ++f) point[f] = features_[f].scale(point[f]);
      pair.svm.points.push_back(std::move(point));
      pair.svm.sides.push_back(cell.seconds[a] < cell.seconds[b] ? 1 : -1);
      pair.svm.repeats.push_back(repeats);
      pair.cells.push_back(i);
    }
  }

  const CellTable& table_;
  std::vector<LearnedModel::Scaled> features_;
  std::vector<Pair> pairs_;
};

struct Fold {
  Trainer trainer;
  Indices left_out;
};

std::vector<Fold> folds_of(const CellTable& table, const Indices& cells, Metric metric,
                           const TrainOptions& options) {
  std::vector<size_t> best;
  for (const size_t i : cells) best.push_back(table.cells[i].best());
  std::vector<Fold> folds;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    const uint64_t seed = options.seed * 1000 + static_cast<uint64_t>(repeat);
    const std::vector<int> part = stratified_parts(best, options.folds, seed);
    for (int fold = 0; fold < options.folds; ++fold) {
      Indices kept, left_out;
      for (size_t i = 0; i < cells.size(); ++i) (part[i] == fold ? left_out : kept).push_back(cells[i]);
      if (!kept.empty() && !left_out.empty())
        folds.push_back({Trainer(table, kept, metric), std::move(left_out)});
    }
  }
  return folds;
}

// Parameters, and what they chose for the cells that were left out.
struct Setting {
  Metric metric;
  double cost, gamma;
  std::vector<std::vector<double>> decisions = {};  // by cell left out, fold after fold; by pair
  std::vector<double> losses = {};                  // by cell of the table, summed over the repeats
  double loss = 0;                                  // their sum
};

// Time lost and the share of clear mistakes both count: as much as 10 % of time for a choice that takes over
// 5 % longer than the best.
double loss_of(double regret) { return std::log(regret) + (regret > 1.05 ? 0.1 : 0); }

double regret_of(const Cell& cell, const Decisions& decisions) {
  return cell.regret(choice_in(cell, ranking_of(decisions, cell.seconds.size())));
}

Setting validate(const CellTable& table, const std::vector<Fold>& folds, Setting setting) {
  const size_t pairs = pairs_of(table.classes.size());
  setting.losses.assign(table.cells.size(), 0);
  for (const Fold& fold : folds) {
    const LearnedSelector selector({table.classes, {fold.trainer.train(setting.cost, setting.gamma)}});
    for (const size_t i : fold.left_out) {
      const Decisions decisions = selector.decide(table.cells[i].call);
      setting.decisions.emplace_back(decisions.begin(),
                                     decisions.begin() + static_cast<std::ptrdiff_t>(pairs));
      const double loss = loss_of(regret_of(table.cells[i], decisions));
      setting.losses[i] += loss;
      setting.loss += loss;
    }
  }
  return setting;
}

// Whether a's loss is the less by more than one standard error of the difference, cell by cell (Breiman's
// rule of one standard error): with some fifty cells the least loss alone is a matter of luck.
bool clearly_better(const Setting& a, const Setting& b, const Indices& cells) {
  double sum = 0, squares = 0;
  for (const size_t i : cells) {
    const double gain = b.losses[i] - a.losses[i];
    sum += gain;
    squares += gain * gain;
  }
  const auto count = static_cast<double>(cells.size());
  const double mean = sum / count, variance = squares / count - mean * mean;
  return mean > std::sqrt(std::max(variance, 0.0) / count);
}

// How good the settings are when they vote together, on the cells that were left out.
Score score_of(const CellTable& table, const Indices& left_out, const std::vector<Setting>& settings) {
  Scorer scorer;
  for (size_t i = 0; i < left_out.size(); ++i) {
    Decisions sum = {};
    for (const Setting& setting : settings)
      for (size_t p = 0; p < setting.decisions[i].size(); ++p) sum[p] += setting.decisions[i][p];
    scorer.add(regret_of(table.cells[left_out[i]], sum));
  }
  return scorer.score();
}

}  // namespace

Trained train(const CellTable& table, const std::vector<size_t>& cells, const TrainOptions& options) {
  std::vector<Setting> settings;
  Indices left_out;  // the same for all settings
  for (const Metric metric : kMetrics) {
    const std::vector<Fold> folds = folds_of(table, cells, metric, options);
    left_out.clear();
    for (const Fold& fold : folds)
      left_out.insert(left_out.end(), fold.left_out.begin(), fold.left_out.end());
    for (const double gamma : kGammas)
      for (const double cost : kCosts) settings.push_back(validate(table, folds, {metric, cost, gamma}));
  }
  const Setting best = *std::min_element(settings.begin(), settings.end(),
                                         [](const Setting& a, const Setting& b) { return a.loss < b.loss; });
  std::erase_if(settings, [&](const Setting& setting) { return clearly_better(best, setting, cells); });

  Trained trained{{table.classes, {}}, score_of(table, left_out, settings)};
  for (const Setting& setting : settings)
    trained.model.svms.push_back(Trainer(table, cells, setting.metric).train(setting.cost, setting.gamma));
  return trained;
}

}  // namespace wia
