// What `wia tune` has measured, for people.
#pragma once
#include <map>
#include <string>

#include "tune/measuring_plan.hpp"

namespace wia::cli {

// A line for each cell, what there was no time for, and what was won.
std::string measured_text(const MeasuringPlan& plan, const std::string& machine,
                          const std::map<std::string, std::string>& conditions, double seconds);
// One line: "[####......] 23 of 60 s: all_reduce 65536 ring"
std::string progress_text(double seconds, double of, const std::string& what);

}  // namespace wia::cli
