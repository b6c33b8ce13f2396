// The file that `wia tune` measures into and goes on from. Thread safe, for different files.
#pragma once
#include <map>
#include <string>

#include "dispatch/tuning_file.hpp"
#include "wia/wia.h"

namespace wia::cli {

std::string machine_name();

// What has to be the same for all that is in one file; without `world`, as far as it is known before the
// ranks have met.
using JobConditions = std::map<std::string, std::string>;
JobConditions conditions_of(int ranks, const wia_communicator_t* world);

// What is there to go on from: nothing where there is no file, where the path is "-", or with `fresh`. Throws
// CLI::ValidationError, of "-o", when the path cannot be written, or holds what cannot be gone on from.
Tuning read_before(const std::string& path, bool fresh, const JobConditions& conditions);
// How long that was measured.
double seconds_in(const Tuning& tuning);

}  // namespace wia::cli
