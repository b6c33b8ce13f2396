// From a table of timings to a tuning file. Deterministic; thread safe.
#pragma once
#include "dispatch/tuning_file.hpp"
#include "tune/train.hpp"

namespace wia {

// One machine's tables; each must have cells.
Tuning learn(const std::vector<CellTable>& tables, const TrainOptions& options);

}  // namespace wia
