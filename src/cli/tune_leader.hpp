// Rank 0 of `wia tune`: decides what is measured, keeps the file, shows how far it is and what came out.
//
// Not thread safe. The other ranks follow its orders (tune_look.hpp).
#pragma once
#include <string>
#include <vector>

#include "cli/tune_cells.hpp"
#include "cli/tune_costs.hpp"
#include "cli/tune_file.hpp"
#include "cli/tune_look.hpp"
#include "tune/measuring_plan.hpp"

namespace wia::cli {

struct MeasureOptions {
  std::vector<Collective> collectives;
  std::string sizes, output;
  double budget_s = 60;
  int ranks = 0;  // 0: not said
  bool fresh = false;
  TrainOptions train;
};

class TuneLeader {
 public:
  // Throws CLI::ValidationError when the file is not one to go on from, or sizes do
  // not fit.
  TuneLeader(const MeasureOptions& options, const wia_communicator_t* world, const JobCosts& job,
             Looker& looker);

  // Until the time has passed, or all is clear.
  void measure();
  // The file, and the table.
  void finish();

 private:
  std::vector<MeasuredCell> asked(int ranks);
  double passed_s() const;
  void look(size_t i, size_t which);
  void show(const std::string& what) const;
  void save(const TrainOptions& train) const;

  const MeasureOptions& options_;
  const JobConditions conditions_;
  const std::optional<MachineCosts> costs_;
  Looker& looker_;
  const Tuning before_;
  TuneCells cells_;
  MeasuringPlan plan_;
  const bool on_terminal_;
  int64_t began_ns_ = 0;
  double took_s_ = 0;
};

}  // namespace wia::cli
