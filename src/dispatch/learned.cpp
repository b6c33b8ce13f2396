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

}  // namespace

double LearnedModel::Scaled::scale(double value) const {
  return (std::clamp(value, least, most) - least) * weight;
}

std::string flaw_of(const LearnedModel& model) {
  const size_t classes = model.classes.size();
  if (classes < 1 || classes > kMostClasses)
    return fmt::format("{} classes, wanted are 1 to {}", classes, kMostClasses);
  for (size_t c = 0; c < classes; ++c)
    if (std::find(model.classes.begin(), model.classes.begin() + static_cast<std::ptrdiff_t>(c),
                  model.classes[c]) != model.classes.begin() + static_cast<std::ptrdiff_t>(c))
      return fmt::format("the class \"{}\" is there twice", model.classes[c]);
  if (model.features.size() > kMostFeatures)
    return fmt::format("{} features, at most {} are used", model.features.size(), kMostFeatures);
  if (!(std::isfinite(model.gamma) && model.gamma > 0)) return "gamma is not above 0";
  for (size_t f = 0; f < model.features.size(); ++f) {
    const LearnedModel::Scaled& range = model.features[f];
    if (!(std::isfinite(range.least) && std::isfinite(range.most) && range.least < range.most))
      return fmt::format("the range of {} is empty", range.feature->name);
    for (size_t g = 0; g < f; ++g)
      if (model.features[g].feature == range.feature)
        return fmt::format("the feature {} is there twice", range.feature->name);
  }
  const size_t pairs = pairs_of(classes);
  if (model.biases.size() != pairs || !finite(model.biases))
    return fmt::format("{} biases, wanted is one for each of {} pairs", model.biases.size(), pairs);
  for (size_t v = 0; v < model.vectors.size(); ++v) {
    const LearnedModel::Vector& vector = model.vectors[v];
    if (vector.values.size() != model.features.size() || !finite(vector.values))
      return fmt::format("vector {} has {} values, there are {} features", v, vector.values.size(),
                         model.features.size());
    if (vector.weights.size() != pairs || !finite(vector.weights))
      return fmt::format("vector {} has {} weights, there are {} pairs", v, vector.weights.size(), pairs);
  }
  return "";
}

LearnedSelector::LearnedSelector(LearnedModel model) : model_(std::move(model)) {
  for (const LearnedModel::Vector& vector : model_.vectors)
    for (size_t f = 0; f < model_.features.size(); ++f)
      scaled_.push_back(model_.features[f].scale(vector.values[f]));
}

LearnedSelector::Standings LearnedSelector::standings_of(const CallShape& call) const {
  const size_t features = model_.features.size(), pairs = model_.biases.size();
  std::array<double, kMostFeatures> at;
  for (size_t f = 0; f < features; ++f) {
    const double value = model_.features[f].feature->value(call);
    // Unknown here: the middle, where it says least.
    const double middle = (model_.features[f].least + model_.features[f].most) / 2;
    at[f] = model_.features[f].scale(std::isnan(value) ? middle : value);
  }
  std::array<double, pairs_of(kMostClasses)> decisions;
  std::copy(model_.biases.begin(), model_.biases.end(), decisions.begin());
  const double* place = scaled_.data();
  for (const LearnedModel::Vector& vector : model_.vectors) {
    double distance = 0;
    for (size_t f = 0; f < features; ++f, ++place) distance += (at[f] - *place) * (at[f] - *place);
    const double kernel = std::exp(-model_.gamma * distance);
    for (size_t p = 0; p < pairs; ++p) decisions[p] += vector.weights[p] * kernel;
  }
  Standings by_class = {};
  const double* decision = decisions.data();
  for (size_t a = 0; a < model_.classes.size(); ++a) {
    for (size_t b = a + 1; b < model_.classes.size(); ++b, ++decision) {
      ++by_class[*decision > 0 ? a : b].wins;
      const double margin = std::clamp(*decision, -1.0, 1.0);
      by_class[a].margin += margin;
      by_class[b].margin -= margin;
    }
  }
  return by_class;
}

std::vector<size_t> LearnedSelector::order_of(const Standings& standings) const {
  std::vector<size_t> order(model_.classes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return standings[b] < standings[a]; });
  return order;
}

size_t LearnedSelector::choose_class(const CallShape& call) const {
  const Standings standings = standings_of(call);
  const auto end = standings.begin() + static_cast<std::ptrdiff_t>(model_.classes.size());
  return static_cast<size_t>(std::max_element(standings.begin(), end) - standings.begin());
}

std::vector<size_t> LearnedSelector::rank_classes(const CallShape& call) const {
  return order_of(standings_of(call));
}

std::string_view LearnedSelector::choose(const CallShape& call) const {
  return model_.classes[choose_class(call)];
}

std::vector<Candidate> LearnedSelector::explain(const CallShape& call) const {
  const Standings standings = standings_of(call);
  std::string outside;
  for (const LearnedModel::Scaled& range : model_.features) {
    const double value = range.feature->value(call);
    if (std::isnan(value)) outside += fmt::format("; {} is unknown", range.feature->name);
    if (value < range.least || value > range.most)
      outside += fmt::format("; {} is {:.4g}, measured was {:.4g} to {:.4g}", range.feature->name, value,
                             range.least, range.most);
  }
  std::vector<Candidate> candidates;
  for (const size_t c : order_of(standings))
    candidates.push_back({model_.classes[c], standings[c].wins + standings[c].margin * 1e-3,
                          fmt::format("wins {} of {} pairs, margin {:+.2f}{}", standings[c].wins,
                                      model_.classes.size() - 1, standings[c].margin, outside)});
  return candidates;
}

}  // namespace wia
