#include "cli/launcher.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/environment.hpp"
#include "base/machine.hpp"
#include "base/random.hpp"
#include "bootstrap/store.hpp"
#include "cli/guardian.hpp"
#include "cli/output.hpp"
#include "cli/rank_process.hpp"

namespace wia::cli {
namespace {

constexpr int kTimeoutCode = 124, kNotExecutableCode = 126, kNotFoundCode = 127;
// After SIGKILL a process may hang in the kernel (a dead file system); it is left there.
constexpr int64_t kKillMs = 2'000;
// A reader of our output that keeps silent is waited for, but not once somebody wants us to end.
constexpr int64_t kFlushMs = 2'000;

// The signals that reach the launcher become readable here; everybody else of this process has them blocked.
class Signals {
 public:
  static constexpr std::array<int, 4> kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

  Signals() {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);  // whoever started us may ignore it, and then nobody could be waited for
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (const int forwarded : kForwarded)
      if (forwarded != SIGHUP || !is_ignored(SIGHUP)) sigaddset(&set, forwarded);  // nohup wia run ...
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    descriptor_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  int descriptor() const { return descriptor_.get(); }
  // The next of the forwarded ones, 0: none. SIGCHLD only wakes.
  int take() {
    signalfd_siginfo info;
    while (read(descriptor_.get(), &info, sizeof info) == sizeof info)
      if (info.ssi_signo != SIGCHLD) return static_cast<int>(info.ssi_signo);
    return 0;
  }

 private:
  static bool is_ignored(int signal) {
    struct sigaction action = {};
    return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  }

  sigset_t before_;
  FileDescriptor descriptor_;
};

// This process's environment without what an outer job may have left there, and with what names the rank.
std::vector<std::string> environment_of(int rank, const JobIdentity& identity, int port) {
  const std::vector<std::string> own = {fmt::format("WIA_RANK={}", rank),
                                        fmt::format("WIA_WORLD_SIZE={}", identity.world_size),
                                        "WIA_MASTER_ADDR=127.0.0.1",
                                        fmt::format("WIA_MASTER_PORT={}", port),
                                        "WIA_JOB_ID=" + identity.job,
                                        "WIA_JOB_SECRET=" + identity.secret,
                                        "WIA_STORE_SERVED=1"};
  std::vector<std::string> all = environment_entries();
  std::erase_if(all, [&](const std::string& entry) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    return std::any_of(own.begin(), own.end(),
                       [&](const std::string& other) { return other.starts_with(name); });
  });
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

int code_of_failed_start(int error) {
  if (error == ENOENT) return kNotFoundCode;
  const bool lacks_resources = error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM;
  return lacks_resources ? 1 : kNotExecutableCode;
}

class Job {
 public:
  Job(const LaunchOptions& options, const std::vector<std::string>& command)
      : options_(options), command_(command) {}
  int run();

 private:
  enum Phase { running, grace, terminating, killing, given_up };  // in the order in which they follow

  void start_all();
  int start(int rank);
  void loop();
  void wait();
  void look_at_signals();
  void look_at_ranks();
  void look_at_the_time();
  void end_job(int code, Phase phase);
  void enter(Phase phase);
  void signal_all(int signal);
  void finish_output();
  void say(const std::string& text) { output_.say(options_.name + ": " + text); }

  const LaunchOptions& options_;
  const std::vector<std::string>& command_;
  Guardian guardian_;  // first: it forks, and no thread may run then
  Signals signals_;
  JobOutput output_;
  JobIdentity identity_;
  std::unique_ptr<StoreServer> server_;
  std::vector<RankProcess> ranks_;
  std::vector<bool> seen_ended_;
  Phase phase_ = running;
  Deadline phase_end_ = Deadline::never();
  Deadline timeout_ = Deadline::never();
  int exit_code_ = 0;
  int interrupted_ = 0;  // how many times we were told to end
};

int Job::run() {
  identity_.job = fmt::format("run/{}/{}", getpid(), random_name().substr(0, 8));
  identity_.secret = random_name();
  identity_.world_size = options_.ranks;
  Result<std::unique_ptr<StoreServer>> server = StoreServer::start("127.0.0.1", 0, identity_);
  if (!server.ok()) {
    say(server.status().text());
    return 1;
  }
  server_ = std::move(*server);
  timeout_ = Deadline::after_ms(options_.timeout_ms);
  start_all();
  loop();
  signal_all(SIGKILL);  // whatever the ranks have left behind in their groups
  finish_output();
  if (phase_ != given_up)
    for (RankProcess& rank : ranks_) rank.reap();
  return exit_code_;
}

void Job::start_all() {
  ranks_.reserve(static_cast<size_t>(options_.ranks));
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const int error = start(rank);
    if (error == 0) continue;
    say(fmt::format("cannot start rank {}: {}: {}", rank, command_.front(), strerror(error)));
    return end_job(code_of_failed_start(error), terminating);
  }
}

int Job::start(int rank) {
  static const std::vector<int> cpus = affinity();
  static const FileDescriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  RankStart how;
  how.command = command_;
  how.environment = environment_of(rank, identity_, server_->port());
  how.capture = options_.prefix;
  if (options_.bind_cores && !cpus.empty()) how.cpu = cpus[static_cast<size_t>(rank) % cpus.size()];
  // A terminal would stop a rank that reads it: it belongs to our process group.
  if (rank > 0 || isatty(STDIN_FILENO)) how.input = nothing.get();
  RankProcess process;
  const int error = process.start(how);
  if (error != 0) return error;
  guardian_.watch(process.group());
  output_.add_rank(rank, process.take_output(), process.take_error());
  ranks_.push_back(std::move(process));
  seen_ended_.push_back(false);
  return 0;
}

void Job::loop() {
  const auto all_ended = [&] {
    return std::find(seen_ended_.begin(), seen_ended_.end(), false) == seen_ended_.end();
  };
  look_at_ranks();
  while (!all_ended() && phase_ != given_up) {
    wait();
    look_at_signals();
    look_at_ranks();
    look_at_the_time();
  }
}

void Job::wait() {
  std::vector<pollfd> polls = {{signals_.descriptor(), POLLIN, 0}};
  output_.add_polls(polls);
  const Deadline next = phase_ == running ? timeout_ : phase_end_;
  const int ready = poll(polls.data(), polls.size(), next.is_never() ? -1 : next.left_ms());
  if (ready > 0) output_.serve(polls);
}

void Job::look_at_signals() {
  while (const int signal = signals_.take()) {
    ++interrupted_;
    signal_all(signal);
    if (phase_ == running) {
      say(fmt::format("got SIG{}; ending all ranks", sigabbrev_np(signal)));
      end_job(128 + signal, grace);
    } else if (interrupted_ > 1 && phase_ < killing) {  // somebody is in a hurry
      enter(static_cast<Phase>(phase_ + 1));
    }
  }
}

void Job::look_at_ranks() {
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (seen_ended_[rank] || !ranks_[rank].ended()) continue;
    seen_ended_[rank] = true;
    output_.drain(static_cast<int>(rank));
    const RankEnd& end = ranks_[rank].end();
    if (end.good() || phase_ != running) continue;
    const bool last = std::find(seen_ended_.begin(), seen_ended_.end(), false) == seen_ended_.end();
    say(fmt::format("rank {} {}{}", rank, end.text(), last ? "" : "; ending the others"));
    end_job(end.code(), grace);
  }
}

void Job::look_at_the_time() {
  if (phase_ == running && timeout_.passed()) {
    say(fmt::format("the timeout of {:g} s has passed; ending all ranks",
                    static_cast<double>(options_.timeout_ms) / 1000));
    end_job(kTimeoutCode, terminating);
  } else if (phase_ != running && phase_end_.passed()) {
    enter(static_cast<Phase>(phase_ + 1));
  }
}

// The first reason wins.
void Job::end_job(int code, Phase phase) {
  exit_code_ = code;
  enter(phase);
}

void Job::enter(Phase phase) {
  phase_ = phase;
  if (phase == terminating) signal_all(SIGTERM);
  if (phase == killing) signal_all(SIGKILL);
  phase_end_ = Deadline::after_ms(phase == grace ? kGraceMs : phase == terminating ? kTermMs : kKillMs);
}

void Job::signal_all(int signal) {
  for (const RankProcess& rank : ranks_) rank.signal_group(signal);
}

void Job::finish_output() {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) output_.drain(rank);
  Deadline limit = interrupted_ > 0 ? Deadline::after_ms(kFlushMs) : Deadline::never();
  while (!output_.empty() && !limit.passed()) {
    std::vector<pollfd> polls = {{signals_.descriptor(), POLLIN, 0}};
    output_.add_polls(polls);
    if (poll(polls.data(), polls.size(), limit.is_never() ? -1 : limit.left_ms()) > 0) output_.serve(polls);
    if (signals_.take() != 0) limit = Deadline::after_ms(kFlushMs).earlier(limit);
  }
}

}  // namespace

int launch(const LaunchOptions& options, const std::vector<std::string>& command) {
  return Job(options, command).run();
}

}  // namespace wia::cli
