#include <fmt/core.h>

#include <algorithm>

#include "dispatch/selectors.hpp"

namespace wia {
namespace {

constexpr size_t kSlices[] = {kUsualSlice / 4, kUsualSlice * 4, kUsualSlice * 16};
constexpr double kNearest = 2;  // a slice stands for those up to so many times shorter or longer
constexpr double kGain = 0.9;   // what another slice must promise

double slices_of(const Price& price, double bytes, size_t slice_bytes) {
  const double chunk = bytes / price.chunks();
  return std::max(chunk / static_cast<double>(slice_bytes ? slice_bytes : kUsualSlice), 1.0);
}

// Whether the pipeline formula's slice is one that `slice_bytes` stands for.
bool is_best(const Price& price, double bytes, size_t slice_bytes) {
  const double best = bytes / price.chunks() / price.best_slices(static_cast<size_t>(bytes));
  const double ratio = best / static_cast<double>(slice_bytes);
  return ratio >= 1 / kNearest && ratio < kNearest;
}

}  // namespace

ModelSelector::ModelSelector(Collective collective, const Group& group, const MachineCosts& costs) {
  for (const Algorithm* algorithm : algorithms_of(collective)) {
    auto price = Price::of(*algorithm, group, costs);
    if (!price) {
      left_out_.push_back({algorithm->name, 0, price.status().text()});
      continue;
    }
    priced_.push_back({algorithm->name, 0, price.value()});
    for (const size_t slice : kSlices)
      priced_.push_back({name_of(Tactic{algorithm, slice, 0}), slice, price.value()});
  }
}

std::vector<ModelSelector::Prediction> ModelSelector::predict(const CallShape& call) const {
  std::vector<Prediction> predictions;
  double usual = 0;
  for (const Priced& one : priced_) {
    if (one.slice_bytes > 0 && !is_best(one.price, call.bytes, one.slice_bytes)) continue;
    const double time =
        one.price.time_us(static_cast<size_t>(call.bytes), slices_of(one.price, call.bytes, one.slice_bytes));
    if (one.slice_bytes == 0) usual = time;
    if (one.slice_bytes == 0 || time < kGain * usual) predictions.push_back({one.tactic, time});
  }
  std::stable_sort(predictions.begin(), predictions.end(),
                   [](const Prediction& a, const Prediction& b) { return a.time_us < b.time_us; });
  return predictions;
}

std::string_view ModelSelector::choose(const CallShape& call) const {
  const auto predictions = predict(call);
  return predictions.empty() ? std::string_view() : predictions.front().tactic;
}

std::vector<Candidate> ModelSelector::explain(const CallShape& call) const {
  std::vector<Candidate> candidates;
  for (const auto& [tactic, time] : predict(call))
    candidates.push_back({std::string(tactic), -time, fmt::format("predicted {:.2f} us", time)});
  candidates.insert(candidates.end(), left_out_.begin(), left_out_.end());
  return candidates;
}

}  // namespace wia
