// Tables of timings as CSV: docs/formats/timings.md.
//
// Pure but for the function that takes a path. Thread safe. A table is read whole or refused: errors
// (Code::invalid_argument; Code::system where the file cannot be read) name the file and the line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "dispatch/features.hpp"
#include "schedule/collective.hpp"

namespace wia {

// One row.
struct Timing {
  std::string machine;
  Collective collective = Collective::all_reduce;
  std::string choice;   // what was timed: a library, an algorithm
  std::string run_set;  // rows of one run set were measured at about the same time; "": not told
  CallShape call;
  double seconds = 0;
};

struct TimingTable {
  std::vector<Timing> rows;
  std::vector<std::string> ignored_columns;
};

// `name` stands for the text in errors.
Result<TimingTable> timings_from_text(std::string_view text, const std::string& name);
Result<TimingTable> read_timings(const std::string& path);

}  // namespace wia
