// What `wia tune` may measure: the calls, and for each the classes to choose from.
//
// Pure but for the memory that is available; not thread safe.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "cli/tune_costs.hpp"
#include "dispatch/selectors.hpp"
#include "tune/measured.hpp"

namespace wia::cli {

// The calls of a job of so many ranks on so many nodes.
class TuneCells {
 public:
  TuneCells(int ranks, int nodes, const JobCosts& job, const Config& config);

  // What the rules choose first, then every other algorithm that is not the same on these ranks.
  MeasuredCell make(Collective collective, double bytes);

 private:
  struct Way {
    std::string name;
    uint64_t schedules;  // equal: the same
  };
  const std::vector<Way>& ways(Collective collective);
  void predict(MeasuredCell& cell);

  const int ranks_, nodes_, nics_;
  const bool deterministic_;
  const bool compares_;  // the shape of the job is known
  std::map<Collective, std::vector<Way>> ways_;
  const std::optional<MachineCosts> costs_;  // nothing: the model does not know these ranks
  const Group group_;
  std::map<Collective, ModelSelector> models_;
};

// "all", or names. Throws CLI::ValidationError on names that are unknown, or where there is nothing to
// choose.
std::vector<Collective> tuned_collectives(const std::string& text);
// Sizes: as `text` lists them, else 8 bytes to 64 MiB by factors of 4, as far as memory goes. Throws
// CLI::ValidationError for listed ones that do not fit.
std::vector<uint64_t> tuned_sizes(const std::string& text, const std::vector<Collective>& collectives,
                                  int ranks);

}  // namespace wia::cli
