#include "cli/rank_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace wia::cli {
namespace {

struct Pipe {
  FileDescriptor read, write;
  int open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    read.reset(ends[0]);
    write.reset(ends[1]);
    return 0;
  }
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// In the child, between fork and exec: only what is safe while other threads of the parent may hold locks.
// Returns only when exec fails.
void become_rank(const RankStart& how, pid_t parent, char** command, char** variables, int output,
                 int error) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);
  if (how.cpu >= 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<size_t>(how.cpu), &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
  }
  if (how.input >= 0) dup2(how.input, STDIN_FILENO);
  if (output >= 0) dup2(output, STDOUT_FILENO);
  if (error >= 0) dup2(error, STDERR_FILENO);
  for (const int signal : {SIGCHLD, SIGPIPE, SIGINT, SIGQUIT}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvpe(command[0], command, variables);
}

}  // namespace

std::string RankEnd::text() const {
  if (signal == 0) return fmt::format("exited with code {}", exit_code);
  const char* name = sigabbrev_np(signal);
  return fmt::format("was killed by signal {} (SIG{})", signal, name ? name : "?");
}

int RankProcess::start(const RankStart& how) {
  Pipe output, error, failed;  // the last carries errno, or closes on exec
  if (how.capture)
    if (const int why = output.open() ?: error.open()) return why;
  if (const int why = failed.open()) return why;
  const std::vector<char*> command = pointers(how.command), variables = pointers(how.environment);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) return errno;
  if (pid_ == 0) {
    become_rank(how, parent, const_cast<char**>(command.data()), const_cast<char**>(variables.data()),
                output.write.get(), error.write.get());
    const int why = errno;
    [[maybe_unused]] const ssize_t written = write(failed.write.get(), &why, sizeof why);
    _exit(127);
  }
  setpgid(pid_, pid_);  // the child does it too: whoever comes first
  failed.write.reset();
  int why = 0;
  ssize_t count = 0;
  while ((count = read(failed.read.get(), &why, sizeof why)) < 0 && errno == EINTR) {
  }
  if (count == sizeof why) {
    reap();
    return why;
  }
  if (how.capture) {
    fcntl(output.read.get(), F_SETFL, O_NONBLOCK);
    fcntl(error.read.get(), F_SETFL, O_NONBLOCK);
    output_ = std::move(output.read);
    error_ = std::move(error.read);
  }
  return 0;
}

bool RankProcess::ended() {
  if (end_ || pid_ < 0) return true;
  siginfo_t info = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return false;
  end_.emplace();
  (info.si_code == CLD_EXITED ? end_->exit_code : end_->signal) = info.si_status;
  return true;
}

void RankProcess::signal_group(int signal) const {
  if (pid_ > 0) kill(-pid_, signal);
}

void RankProcess::reap() {
  if (pid_ > 0)
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  pid_ = -1;
}

}  // namespace wia::cli
