// The tuning file, schema "wia.tuning/1": docs/formats/tuning.md. Of one machine; per collective the measured
// cells and what was learned from them.
//
// Pure but for the functions that take a path. Thread safe. What is read is whole and consistent, or refused:
// errors (Code::invalid_argument; Code::system where the file cannot be read or written) name the file and
// the place in it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "dispatch/costs.hpp"
#include "dispatch/learned.hpp"
#include "schedule/collective.hpp"

namespace wia {

struct CollectiveTuning {
  // What one call took by each class, median of repeated runs.
  struct Cell {
    CallShape call;
    std::vector<std::optional<double>> times_us;  // by class
    // By name, of whatever was measured here, round by round: `wia tune` goes on from them. May be empty.
    std::map<std::string, std::vector<double>> rounds_us = {};
    bool operator==(const Cell& other) const;
  };
  // How good the choice was on cells that its machine had not seen, when its parameters were looked for.
  struct Evidence {
    int cells = 0, folds = 0, repeats = 0;
    double accuracy = 0;         // share of the cells where the best was chosen
    double accuracy_within = 0;  // or one that takes at most 5 % longer
    double regret = 1;           // geometric mean of time of the choice / time of the best
    bool operator==(const Evidence&) const = default;
  };

  Collective collective = Collective::all_reduce;
  LearnedModel learned;
  Evidence evidence;
  std::vector<Cell> cells;
  bool operator==(const CollectiveTuning&) const = default;
};

struct Tuning {
  std::string machine;
  std::map<std::string, std::string> conditions;  // where the timings are from, ...: for people
  std::vector<CollectiveTuning> collectives;      // each collective once
  std::optional<MachineCosts> costs;              // as measured

  const CollectiveTuning* of(Collective collective) const;  // null: not tuned
  bool operator==(const Tuning&) const = default;
};

std::string to_text(const Tuning& tuning);
// "-": to stdout. A file is replaced whole (base/replace_file.hpp).
Status write_tuning(const Tuning& tuning, const std::string& path);

// `name` stands for the text in errors.
Result<Tuning> tuning_from_text(std::string_view text, const std::string& name);
Result<Tuning> read_tuning(const std::string& path);

}  // namespace wia
