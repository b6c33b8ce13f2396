#include "dispatch/learned.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace wia {
namespace {

bool finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

// What is said for a class.
struct Standing {
  int wins = 0;
  double margin = 0;  // sum over its pairs
  bool operator<(const Standing& other) const {
    return wins != other.wins ? wins < other.wins : margin < other.margin;
  }
};
using Standings = std::array<Standing, kMostClasses>;

Standings standings_of(const Decisions& decisions, size_t classes) {
  Standings by_class = {};
  const double* decision = decisions.data();
  for (size_t a = 0; a < classes; ++a) {
    for (size_t b = a + 1; b < classes; ++b, ++decision) {
      ++by_class[*decision > 0 ? a : b].wins;
      by_class[a].margin += *decision;
      by_class[b].margin -= *decision;
    }
  }
  return by_class;
}

// Each feature of any SVM once; all have it from the same cells.
std::vector<LearnedModel::Scaled> features_of(const LearnedModel& model) {
  std::vector<LearnedModel::Scaled> features;
  for (const LearnedModel::Svm& svm : model.svms)
    for (const LearnedModel::Scaled& one : svm.features)
      if (std::none_of(features.begin(), features.end(),
                       [&](const auto& other) { return other.feature == one.feature; }))
        features.push_back(one);
  return features;
}

std::vector<size_t> order_of(const Standings& standings, size_t classes) {
  std::vector<size_t> order(classes);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return standings[b] < standings[a]; });
  return order;
}

// Adds what one SVM says, its share of all.
void add_decisions(const LearnedModel::Svm& svm, const double* place, const CallShape& call, double share,
                   Decisions& sum) {
  const size_t features = svm.features.size(), pairs = svm.biases.size();
  std::array<double, kMostFeatures> at;
  for (size_t f = 0; f < features; ++f) {
    const double value = svm.features[f].feature->value(call);
    // Unknown here: the middle, where it says least.
    const double middle = (svm.features[f].least + svm.features[f].most) / 2;
    at[f] = svm.features[f].scale(std::isnan(value) ? middle : value);
  }
  Decisions decisions;
  std::copy(svm.biases.begin(), svm.biases.end(), decisions.begin());
  for (const LearnedModel::Vector& vector : svm.vectors) {
    double distance = 0;
    for (size_t f = 0; f < features; ++f, ++place) distance += (at[f] - *place) * (at[f] - *place);
    const double kernel = std::exp(-svm.gamma * distance);
    for (size_t p = 0; p < pairs; ++p) decisions[p] += vector.weights[p] * kernel;
  }
  for (size_t p = 0; p < pairs; ++p) sum[p] += share * std::clamp(decisions[p], -1.0, 1.0);
}

}  // namespace

double LearnedModel::Scaled::scale(double value) const {
  return (std::clamp(value, least, most) - least) * weight;
}

std::string flaw_of(const LearnedModel::Svm& svm, size_t pairs) {
  if (svm.features.size() > kMostFeatures)
    return fmt::format("{} features, at most {} are used", svm.features.size(), kMostFeatures);
  if (!(std::isfinite(svm.gamma) && svm.gamma > 0)) return "gamma is not above 0";
  for (size_t f = 0; f < svm.features.size(); ++f) {
    const LearnedModel::Scaled& range = svm.features[f];
    if (!(std::isfinite(range.least) && std::isfinite(range.most) && range.least < range.most))
      return fmt::format("the range of {} is empty", range.feature->name);
    for (size_t g = 0; g < f; ++g)
      if (svm.features[g].feature == range.feature)
        return fmt::format("the feature {} is there twice", range.feature->name);
  }
  if (svm.biases.size() != pairs || !finite(svm.biases))
    return fmt::format("{} biases, wanted is one for each of {} pairs", svm.biases.size(), pairs);
  for (size_t v = 0; v < svm.vectors.size(); ++v) {
    const LearnedModel::Vector& vector = svm.vectors[v];
    if (vector.values.size() != svm.features.size() || !finite(vector.values))
      return fmt::format("vector {} has {} values, there are {} features", v, vector.values.size(),
                         svm.features.size());
    if (vector.weights.size() != pairs || !finite(vector.weights))
      return fmt::format("vector {} has {} weights, there are {} pairs", v, vector.weights.size(), pairs);
  }
  return "";
}

std::string flaw_of(const LearnedModel& model) {
  const size_t classes = model.classes.size();
  if (classes < 1 || classes > kMostClasses)
    return fmt::format("{} classes, wanted are 1 to {}", classes, kMostClasses);
  for (size_t c = 0; c < classes; ++c)
    if (std::find(model.classes.begin(), model.classes.begin() + static_cast<std::ptrdiff_t>(c),
                  model.classes[c]) != model.classes.begin() + static_cast<std::ptrdiff_t>(c))
      return fmt::format("the class \"{}\" is there twice", model.classes[c]);
  if (model.svms.empty() || model.svms.size() > kMostSvms)
    return fmt::format("{} SVMs, wanted are 1 to {}", model.svms.size(), kMostSvms);
  for (const LearnedModel::Svm& svm : model.svms)
    if (const std::string flaw = flaw_of(svm, pairs_of(classes)); !flaw.empty()) return flaw;
  return "";
}

std::vector<size_t> ranking_of(const Decisions& decisions, size_t classes) {
  return order_of(standings_of(decisions, classes), classes);
}

LearnedSelector::LearnedSelector(LearnedModel model) : model_(std::move(model)) {
  for (const LearnedModel::Svm& svm : model_.svms) {
    std::vector<double>& values = scaled_.emplace_back();
    for (const LearnedModel::Vector& vector : svm.vectors)
      for (size_t f = 0; f < svm.features.size(); ++f)
        values.push_back(svm.features[f].scale(vector.values[f]));
  }
}

Decisions LearnedSelector::decide(const CallShape& call) const {
  Decisions decisions = {};
  const double share = 1 / static_cast<double>(model_.svms.size());
  for (size_t s = 0; s < model_.svms.size(); ++s)
    add_decisions(model_.svms[s], scaled_[s].data(), call, share, decisions);
  return decisions;
}

size_t LearnedSelector::choose_class(const CallShape& call) const {
  const Standings standings = standings_of(decide(call), model_.classes.size());
  const auto end = standings.begin() + static_cast<std::ptrdiff_t>(model_.classes.size());
  return static_cast<size_t>(std::max_element(standings.begin(), end) - standings.begin());
}

std::vector<size_t> LearnedSelector::rank_classes(const CallShape& call) const {
  return ranking_of(decide(call), model_.classes.size());
}

std::string_view LearnedSelector::choose(const CallShape& call) const {
  return model_.classes[choose_class(call)];
}

std::vector<Candidate> LearnedSelector::explain(const CallShape& call) const {
  const size_t classes = model_.classes.size();
  const Standings standings = standings_of(decide(call), classes);
  std::string outside;
  for (const LearnedModel::Scaled& range : features_of(model_)) {
    const double value = range.feature->value(call);
    if (std::isnan(value)) outside += fmt::format("; {} is unknown", range.feature->name);
    if (value < range.least || value > range.most)
      outside += fmt::format("; {} is {:.4g}, measured was {:.4g} to {:.4g}", range.feature->name, value,
                             range.least, range.most);
  }
  std::vector<Candidate> candidates;
  for (const size_t c : order_of(standings, classes))
    candidates.push_back({model_.classes[c], standings[c].wins + standings[c].margin * 1e-3,
                          fmt::format("wins {} of {} pairs, margin {:+.2f}{}", standings[c].wins, classes - 1,
                                      standings[c].margin, outside)});
  return candidates;
}

}  // namespace wia
