#include "cli/guardian.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "base/signals.hpp"

namespace wia::cli {
namespace {

constexpr pid_t kOver = 0;

[[noreturn]] void guard(int pipe) {
  setpgid(0, 0);  // signals to the launcher's group are for the launcher
  prctl(PR_SET_NAME, "wia-guardian");
  const int nothing = open("/dev/null", O_RDWR);
  for (int stream = 0; stream <= 2; ++stream) dup2(nothing, stream);  // nobody shall wait for their end
  std::vector<pid_t> groups;
  for (;;) {
    pid_t group = kOver;
    const ssize_t count = read(pipe, &group, sizeof group);
    if (count < 0 && errno == EINTR) continue;
    if (count == sizeof group && group == kOver) _exit(0);
    if (count != sizeof group) break;
    groups.push_back(group);
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  _exit(0);
}

}  // namespace

Guardian::Guardian() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const FileDescriptor read_end(ends[0]);
  pipe_.reset(ends[1]);
  const SignalsBlocked blocked;
  pid_ = fork();
  if (pid_ != 0) return;
  pipe_.reset();
  guard(read_end.get());
}

Guardian::~Guardian() {
  watch(kOver);
  if (pid_ > 0)
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void Guardian::watch(pid_t group) {
  if (pid_ > 0) [[maybe_unused]]
    const ssize_t written = write(pipe_.get(), &group, sizeof group);
}

}  // namespace wia::cli
