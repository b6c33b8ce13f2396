// What rank 0 of `wia bench` shows: the table for people, JSON for programs, progress on a terminal.
#pragma once
#include <cstdio>
#include <string>

#include "base/json.hpp"
#include "cli/bench_measure.hpp"

namespace wia::cli::bench {

class Report {
 public:
  // Other ranks than 0 show nothing.
  Report(const Options& options, const Plan& plan, const Meeting& meeting, const wia_communicator_t* world);

  void begin() const;
  // Before a line is measured.
  void progress(size_t index) const;
  void add(const Cell& cell, const Measurement& measured);
  // Writes the JSON. Throws std::runtime_error when that or the table could not be written.
  void finish() const;

 private:
  Json conditions() const;

  const Options& options_;
  const Plan& plan_;
  const int ranks_;
  const int nodes_;
  const std::string transport_, timing_;
  const double allowed_cpus_;  // of all ranks
  const bool shown_;
  std::FILE* const out_;    // stdout, or stderr where stdout belongs to JSON
  const bool on_terminal_;  // progress is shown
  Json results_ = Json::array();
};

}  // namespace wia::cli::bench
