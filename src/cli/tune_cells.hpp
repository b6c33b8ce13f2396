// What `wia tune` may measure: the calls, and for each the classes to choose from.
//
// Pure but for the memory that is available; not thread safe.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "tune/measured.hpp"
#include "wia/wia.h"

namespace wia::cli {

// The calls of a job of so many ranks on so many nodes.
class TuneCells {
 public:
  // nics: that a node uses; 0: none is needed.
  TuneCells(int ranks, int nodes, int nics, const Config& config);

  // What the rules choose first, then every other algorithm that is not the same on these ranks.
  MeasuredCell make(Collective collective, double bytes);

 private:
  struct Way {
    std::string name;
    uint64_t schedules;  // equal: the same
  };
  const std::vector<Way>& ways(Collective collective);

  const int ranks_, nodes_, nics_;
  const bool deterministic_;
  const bool compares_;  // the shape of the job is known
  std::map<Collective, std::vector<Way>> ways_;
};

// Network interfaces that a node uses, the fewest of any. Collective. Throws std::runtime_error.
int used_nics(wia_communicator_t* world);

// "all", or names. Throws CLI::ValidationError on names that are unknown, or where there is nothing to
// choose.
std::vector<Collective> tuned_collectives(const std::string& text);
// Sizes: as `text` lists them, else 8 bytes to 64 MiB by factors of 4, as far as memory goes. Throws
// CLI::ValidationError for listed ones that do not fit.
std::vector<uint64_t> tuned_sizes(const std::string& text, const std::vector<Collective>& collectives,
                                  int ranks);

}  // namespace wia::cli
