// Starts a job of N ranks on this host and sees it through: `wia run`, and commands that run on ranks of
// themselves.
//
// Serves the job's store, gives every rank its environment (WIA_RANK and so on), passes its output on line by
// line, forwards SIGINT, SIGTERM, SIGHUP and SIGQUIT. Ends the job when a rank fails: the others have
// kGraceMs to notice and report it themselves, then SIGTERM, then after kTermMs SIGKILL. Leaves no process
// behind, also when the launcher itself is killed. One job at a time in a process; call it from the main
// thread, before others start.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace wia::cli {

struct LaunchOptions {
  int ranks = 1;
  bool bind_cores = false;       // rank r runs on the r-th CPU of those this process may use (modulo)
  int64_t timeout_ms = -1;       // then the job is ended with exit code 124; negative: never
  bool prefix = true;            // output lines begin with "[rank] "
  std::string name = "wia run";  // begins the launcher's own lines
};

constexpr int64_t kGraceMs = 5'000;
constexpr int64_t kTermMs = 2'000;

// The exit code for this process: that of the first rank that failed (128 + signal where a signal ended it),
// 0 when none did, 128 + signal when the launcher was told to end, 124 after the timeout, 127 or 126 when the
// program was not found or cannot be executed, 1 when the job could not be set up. One line on stderr says
// which.
int launch(const LaunchOptions& options, const std::vector<std::string>& command);

}  // namespace wia::cli
