// Runs a function in N real processes, as the ranks of a job. Nothing may have used the library in this
// process before.
#pragma once
#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wia/wia.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace wia::field {

inline int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  bind(fd, reinterpret_cast<sockaddr*>(&address), length);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  close(fd);
  return ntohs(address.sin_port);
}

inline double seconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// What became of a rank: its exit code, or 128 + signal.
using Outcome = std::vector<int>;

// `rank_main` returns the exit code. Everything is killed after `limit_s`, which shows as 137.
inline Outcome run_ranks(int ranks, const std::function<int(int rank)>& rank_main, double limit_s = 30,
                         const std::function<void(const std::vector<pid_t>&)>& meanwhile = {}) {
  const std::string port = std::to_string(free_port());
  std::vector<pid_t> children;
  for (int r = 0; r < ranks; ++r) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      setenv("WIA_RANK", std::to_string(r).c_str(), 1);
      setenv("WIA_WORLD_SIZE", std::to_string(ranks).c_str(), 1);
      setenv("WIA_MASTER_ADDR", "127.0.0.1", 1);
      setenv("WIA_MASTER_PORT", port.c_str(), 1);
      const int code = rank_main(r);
      std::fflush(nullptr);
      _exit(code);
    }
    children.push_back(child);
  }
  if (meanwhile) meanwhile(children);
  const double end = seconds() + limit_s;
  Outcome outcome(children.size(), -1);
  for (size_t left = children.size(); left > 0;) {
    for (size_t r = 0; r < children.size(); ++r) {
      int status;
      if (outcome[r] >= 0 || waitpid(children[r], &status, WNOHANG) != children[r]) continue;
      outcome[r] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      --left;
    }
    if (seconds() > end)
      for (size_t r = 0; r < children.size(); ++r)
        if (outcome[r] < 0) kill(children[r], SIGKILL);
    usleep(1000);
  }
  return outcome;
}

// The pattern of the field cases: neighbours and ranks differ.
inline int64_t value(int rank, size_t i) {
  return ((rank + 1) * 1000003 + static_cast<int64_t>(i) * 7919) & ((1 << 20) - 1);
}
inline int64_t sum(int ranks, size_t i) {
  int64_t total = 0;
  for (int r = 0; r < ranks; ++r) total += value(r, i);
  return total;
}

// In a rank: says what failed and leaves with 1.
#define WIA_CHECK(condition)                                                                             \
  do {                                                                                                   \
    if (!(condition)) {                                                                                  \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, wia_last_error_message()); \
      return 1;                                                                                          \
    }                                                                                                    \
  } while (0)

}  // namespace wia::field
