#include "tune/learn.hpp"

#include <cmath>
#include <numeric>

namespace wia {
namespace {

CollectiveTuning::Cell measured(const Cell& cell) {
  CollectiveTuning::Cell out{cell.call, {}};
  for (const double seconds : cell.seconds)
    out.times_us.push_back(std::isnan(seconds) ? std::nullopt : std::optional(seconds * 1e6));
  return out;
}

CollectiveTuning learn(const CellTable& table, const TrainOptions& options) {
  std::vector<size_t> all(table.cells.size());
  std::iota(all.begin(), all.end(), 0);
  Trained trained = train(table, all, options);
  CollectiveTuning tuning;
  tuning.collective = table.collective;
  tuning.learned = std::move(trained.model);
  tuning.evidence = {static_cast<int>(all.size()),
                     options.folds,
                     options.repeats,
                     trained.validation.accuracy,
                     trained.validation.accuracy_within,
                     trained.validation.regret};
  for (const Cell& cell : table.cells) tuning.cells.push_back(measured(cell));
  return tuning;
}

}  // namespace

Tuning learn(const std::vector<CellTable>& tables, const TrainOptions& options) {
  Tuning tuning;
  for (const CellTable& table : tables) {
    tuning.machine = table.machine;
    tuning.collectives.push_back(learn(table, options));
  }
  return tuning;
}

}  // namespace wia
