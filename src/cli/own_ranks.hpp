// Commands that run on ranks: alone they start ranks of themselves on this host, under a launcher each
// process is a rank.
//
// Used from the main thread.
#pragma once
#include <string>
#include <vector>

#include "bootstrap/launch.hpp"
#include "wia/wia.h"

namespace wia::cli {

constexpr int kRanksWithoutOption = 2;

// Who this process is. Throws std::runtime_error when the launcher's environment contradicts itself.
Launch find_launch();
inline bool is_alone(const Launch& found) { return found.launcher == "none"; }

// Runs this very command on so many ranks of this host, 0: kRanksWithoutOption. The exit code, as launch()
// has it.
int start_own_ranks(const std::string& name, int ranks, const std::vector<std::string>& arguments);

// As a rank of a job that somebody has started: the communicator of all. `asked`: what -n says, 0: nothing.
// Throws CLI::ValidationError when the launcher has started another number, std::runtime_error with the
// library's words.
void check_ranks(int asked, const Launch& found);
wia_communicator_t* join_world();

}  // namespace wia::cli
