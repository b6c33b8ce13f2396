// Runs a function in N real processes, as the ranks of a job, and collects what became of each.
//
// The processes are forked, so nothing may have used the library in this process before: threads of one
// process that are to be ranks run inside run_ranks(1, ...). Everything is killed after the time limit. Not
// thread safe.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wia/wia.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "field/over.hpp"

namespace wia::field {

// A port of the loopback address that was free a moment ago, of those that the system gives nobody by itself:
// the others (32768 and more, by default) may go to a connection of another test before it is used.
inline int free_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    address.sin_port = htons(static_cast<uint16_t>(16384 + random_bits() % 16384));
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool is_free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (is_free) break;
  }
  return ntohs(address.sin_port);
}

inline double seconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct RankResult {
  int code = -1;     // exit code, or 128 + signal
  std::string text;  // all that it wrote on stdout and stderr
  double ended = 0;  // seconds() when it did
};
using Results = std::vector<RankResult>;

struct Options {
  double limit_s = 30;  // then everything is killed, which shows as 137
  int port = 0;         // 0: a free one
  std::string secret = "secret of this job";
  std::vector<int> ranks;        // WIA_RANK of each process; empty: 0, 1, 2...
  int world_size = 0;            // 0: as many as processes
  const Hosts* hosts = nullptr;  // null: what TEST_OVER says
  int ranks_per_host = 1;
  // Called once the processes run.
  std::function<void(const std::vector<pid_t>&)> meanwhile;
};

// Ranks that were started and are not collected yet.
class Job {
 public:
  // `rank_main` returns the exit code.
  Job(int processes, const std::function<int(int rank)>& rank_main, Options options = {})
      : options_(std::move(options)), end_(seconds() + options_.limit_s), results_(processes) {
    if (const int per_host = over().ranks_per_host; !options_.hosts && per_host > 0) {
      options_.hosts = &Hosts::at_least((processes + per_host - 1) / per_host);
      options_.ranks_per_host = per_host;
    }
    if (options_.port == 0) options_.port = options_.hosts ? kPortOfHosts : free_port();
    if (options_.world_size == 0) options_.world_size = processes;
    std::fflush(nullptr);
    for (int p = 0; p < processes; ++p) start(p, options_.ranks.empty() ? p : options_.ranks[p], rank_main);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    kill_all();
    collect();
  }

  const std::vector<pid_t>& pids() const { return pids_; }
  // Reads until process `p` has written `text`; false: it ended or the time passed before.
  bool shows(int p, const std::string& text) {
    while (results_[p].text.find(text) == std::string::npos)
      if (outputs_[p] < 0 || !read_some()) return false;
    return true;
  }
  // What it has written so far.
  const std::string& text(int p) const { return results_[p].text; }
  void kill_all() const {
    for (size_t p = 0; p < pids_.size(); ++p)
      if (results_[p].code < 0) kill(pids_[p], SIGKILL);
  }
  // Waits for the end of all.
  const Results& collect() {
    while (reap() < results_.size()) {
      if (seconds() > end_) kill_all();
      read_some();
    }
    for (size_t p = 0; p < outputs_.size(); ++p)
      while (outputs_[p] >= 0) read_from(p);
    return results_;
  }

 private:
  static constexpr int kPortOfHosts = 29'500;

  void start(int process, int rank, const std::function<int(int)>& rank_main) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    const Hosts* const hosts = options_.hosts;
    const pid_t child = hosts ? hosts->fork_on(process / options_.ranks_per_host) : fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(ends[1], 1);
      dup2(ends[1], 2);
      setenv("WIA_RANK", std::to_string(rank).c_str(), 1);
      setenv("WIA_WORLD_SIZE", std::to_string(options_.world_size).c_str(), 1);
      setenv("WIA_MASTER_ADDR", hosts ? hosts->address(0).c_str() : "127.0.0.1", 1);
      setenv("WIA_MASTER_PORT", std::to_string(options_.port).c_str(), 1);
      setenv("WIA_JOB_SECRET", options_.secret.c_str(), 1);
      setenv("WIA_TRANSPORT", over().transport, 1);
      setenv("WIA_RANKS_PER_NODE", over().per_node, 1);
      if (!hosts) setenv("WIA_NIC", "lo", 1);
      const int code = rank_main(rank);
      std::fflush(nullptr);
      _exit(code);
    }
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pids_.push_back(child);
    outputs_.push_back(ends[0]);
  }
  // How many have ended by now.
  size_t reap() {
    size_t ended = 0;
    for (size_t p = 0; p < results_.size(); ++p) {
      int status;
      if (results_[p].code < 0 && waitpid(pids_[p], &status, WNOHANG) == pids_[p]) {
        results_[p].code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        results_[p].ended = seconds();
      }
      ended += results_[p].code >= 0;
    }
    return ended;
  }
  // False: there is nothing more to read.
  bool read_some() {
    std::vector<pollfd> open;
    for (const int fd : outputs_) open.push_back({fd, POLLIN, 0});  // negative ones are passed over
    poll(open.data(), open.size(), 5);
    bool any = false;
    for (size_t p = 0; p < outputs_.size(); ++p) {
      if (open[p].revents) read_from(p);
      any |= outputs_[p] >= 0;
    }
    return any && seconds() < end_ + 5;
  }
  // What is there now. A process that outlives its rank may hold the pipe open: then the end is not waited
  // for.
  void read_from(size_t p) {
    char buffer[4096];
    const ssize_t count = read(outputs_[p], buffer, sizeof buffer);
    if (count > 0) {
      results_[p].text.append(buffer, static_cast<size_t>(count));
    } else if (count == 0 || errno != EAGAIN || results_[p].code >= 0) {
      close(outputs_[p]);
      outputs_[p] = -1;
    }
  }

  Options options_;
  const double end_;
  Results results_;
  std::vector<pid_t> pids_;
  std::vector<int> outputs_;
};

inline Results run_ranks(int ranks, const std::function<int(int rank)>& rank_main, Options options = {}) {
  Job job(ranks, rank_main, options);
  if (options.meanwhile) options.meanwhile(job.pids());
  return job.collect();
}
inline Results run_ranks(int ranks, const std::function<int(int rank)>& rank_main, double limit_s) {
  Options options;
  options.limit_s = limit_s;
  return run_ranks(ranks, rank_main, options);
}

// Every rank ended with 0; else a failure with what the others said.
inline void expect_good(const Results& results,
                        std::source_location where = std::source_location::current()) {
  std::string text;
  for (size_t r = 0; r < results.size(); ++r)
    if (results[r].code != 0)
      text += "process " + std::to_string(r) + " ended with " + std::to_string(results[r].code) + ": " +
              results[r].text + "\n";
  if (!text.empty()) ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line())) << text;
}

// Where processes wait for one another without the library: made before they start. A few seconds at most.
class Meeting {
 public:
  explicit Meeting(int processes)
      : processes_(processes),
        come_(static_cast<std::atomic<int>*>(mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting() { munmap(come_, sizeof *come_); }
  void arrive_and_wait() const {
    ++*come_;
    for (const double began = seconds(); *come_ < processes_ && seconds() - began < 5;) usleep(500);
  }

 private:
  const int processes_;
  std::atomic<int>* const come_;
};

// --- In a rank -----------------------------------------------------------------------------------------

// Says what failed and leaves with 1.
#define WIA_CHECK(condition)                                                                             \
  do {                                                                                                   \
    if (!(condition)) {                                                                                  \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, wia_last_error_message()); \
      return 1;                                                                                          \
    }                                                                                                    \
  } while (0)

// A call that has to succeed.
#define WIA_OK(call) WIA_CHECK((call) == WIA_SUCCESS)

// Leaves with 1 when a check in a function failed; that has said why.
#define WIA_RUN(function_call)     \
  do {                             \
    if ((function_call)) return 1; \
  } while (0)

// Whether the last error's text has all of these.
template <class... Texts>
bool says(Texts... texts) {
  return (... && (std::strstr(wia_last_error_message(), texts) != nullptr));
}

inline int start(wia_communicator_t** world, int64_t timeout_ms = 10'000) {
  WIA_OK(wia_init(world));
  WIA_OK(wia_communicator_set_timeout(*world, timeout_ms));
  return 0;
}

}  // namespace wia::field
