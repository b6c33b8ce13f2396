// A small process beside the launcher that ends the ranks' process groups when the launcher is killed and can
// no longer do so itself.
//
// It waits on a pipe that the launcher holds open; the end of the launcher closes it. Not thread safe. Start
// it before any thread: it is a fork that goes on running this program's code.
#pragma once
#include <sys/types.h>

#include "base/file_descriptor.hpp"

namespace wia::cli {

class Guardian {
 public:
  Guardian();
  ~Guardian();  // the job is over: nothing is left to guard
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  void watch(pid_t group);

 private:
  FileDescriptor pipe_;
  pid_t pid_ = -1;
};

}  // namespace wia::cli
