// One rank as a process: how it is started and how it ended. It leads a process group of its own, so that
// whatever it starts can be ended with it, and dies with its parent thread.
//
// Not thread safe. A rank that has ended is not reaped before reap(): until then its number, which is also
// that of its group, cannot be given to another process.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"

namespace wia::cli {

struct RankStart {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // NAME=VALUE
  int cpu = -1;                          // to run on; -1: any
  int input = -1;                        // becomes stdin
  bool capture = true;                   // stdout and stderr become pipes to the launcher
};

// How a process ended: by exit (signal 0) or by a signal.
struct RankEnd {
  int exit_code = 0;
  int signal = 0;
  bool good() const { return exit_code == 0 && signal == 0; }
  int code() const { return signal != 0 ? 128 + signal : exit_code; }  // as a shell gives it
  std::string text() const;                                            // "exited with code 3"
};

class RankProcess {
 public:
  // errno of what failed; 0: the program runs.
  int start(const RankStart& how);

  // Ends of the pipes from the rank, not blocking; moved out by whoever reads them.
  FileDescriptor take_output() { return std::move(output_); }
  FileDescriptor take_error() { return std::move(error_); }

  pid_t group() const { return pid_; }
  // Whether it has ended by now.
  bool ended();
  const RankEnd& end() const { return *end_; }

  // To the rank and whatever it started.
  void signal_group(int signal) const;
  void reap();

 private:
  pid_t pid_ = -1;
  std::optional<RankEnd> end_;
  FileDescriptor output_, error_;
};

}  // namespace wia::cli
