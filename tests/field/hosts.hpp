// Hosts for the ranks of a test: the nodes of a cluster that scripts/cluster makes. Each has network
// interfaces, a host name, processes and shared memory of its own; host h is reached at address(h), by its
// eth0.
//
// The cluster lives in namespaces that end with this process, however it ends: nothing is left behind, and
// tests run beside each other. Needs root. Not thread safe.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "base/file_descriptor.hpp"

namespace wia::field {

class Hosts {
 public:
  static constexpr int kSwitch = -1;  // where the hosts' cables end, as n0-0, n1-0...

  explicit Hosts(int hosts, const std::string& options = "--nics 1 --rate none")
      : size_(hosts), own_pids_(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC)) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    const FileDescriptor output(ends[0]);
    FileDescriptor input(ends[1]);
    if (unshare(CLONE_NEWPID) != 0) std::abort();
    first_process_ = fork();
    if (first_process_ == 0) be_first_process(input.get(), options);
    setns(own_pids_.get(), CLONE_NEWPID);
    input.reset();
    std::string said;
    char buffer[4096];
    for (ssize_t count;
         said.find("is up") == std::string::npos && (count = read(output.get(), buffer, sizeof buffer)) > 0;)
      said.append(buffer, static_cast<size_t>(count));
    if (said.find("is up") == std::string::npos) {
      ADD_FAILURE() << "no cluster: " << said;
      std::exit(1);
    }
    for (int host = kSwitch; host < hosts; ++host) look_up(host);
  }
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;
  ~Hosts() {
    kill(first_process_, SIGKILL);
    waitpid(first_process_, nullptr, 0);
  }

  // Why this process can have no hosts; empty: it can.
  static const std::string& obstacle() {
    static const std::string found = [] {
      if (geteuid() != 0) return std::string("hosts are network namespaces, which only root can make");
      std::FILE* attempt = popen(
          "unshare --net --uts --ipc --pid --mount --fork ip link add one type veth peer name two 2>&1", "r");
      char said[200] = "";
      if (attempt) std::fgets(said, sizeof said, attempt);
      if (attempt && pclose(attempt) == 0) return std::string();
      return std::string("namespaces and virtual Ethernet are not to be had here: ") + said;
    }();
    return found;
  }
  // The same ones for all who ask, to the end of the process, unless there are too few.
  static const Hosts& at_least(int hosts) {
    static const Hosts* shared = nullptr;
    if (!shared || shared->size_ < hosts) shared = new Hosts(hosts);  // ranks may still be on the old ones
    return *shared;
  }

  int size() const { return size_; }
  std::string address(int host) const { return "10.77.0." + std::to_string(host + 1); }

  // As fork(); the child is on the host, and a child of this process all the same.
  pid_t fork_on(int host) const {
    const Namespaces& there = namespaces_.at(host);
    setns(there.pids.get(), CLONE_NEWPID);  // of children
    const pid_t child = fork();
    if (child != 0) {
      setns(own_pids_.get(), CLONE_NEWPID);
      return child;
    }
    if (unshare(CLONE_FS) != 0) _exit(125);
    for (const FileDescriptor& one : there.others)
      if (setns(one.get(), 0) != 0) _exit(125);
    return 0;
  }
  // Calls it in the network of the host: sockets that it makes belong there.
  template <class Function>
  auto within(int host, const Function& function) const {
    const FileDescriptor own(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    setns(namespaces_.at(host).others[0].get(), CLONE_NEWNET);
    struct Return {
      int own;
      ~Return() { setns(own, CLONE_NEWNET); }
    } const back{own.get()};
    return function();
  }
  // Runs a shell command there.
  void run(int host, const std::string& command) const {
    const pid_t child = fork_on(host);
    if (child == 0) {
      execl("/bin/sh", "sh", "-ec", command.c_str(), nullptr);
      _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << command;
  }
  void run_on_all(const std::string& command) const {
    for (int host = 0; host < size_; ++host) run(host, command);
  }

 private:
  struct Namespaces {
    FileDescriptor pids;
    std::array<FileDescriptor, 4> others;
  };
  static constexpr const char* kState = "/run/wia-cluster";

  [[noreturn]] void be_first_process(int output, const std::string& options) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(output, 1);
    dup2(output, 2);
    if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("proc", "/proc", "proc", 0, nullptr) != 0 || mount("tmpfs", "/run", "tmpfs", 0, nullptr) != 0)
      _exit(1);
    setenv("CLUSTER_DIR", kState, 1);
    const std::string command = std::string(WIA_SOURCE_DIR "/scripts/cluster up ") + options + " --nodes " +
                                std::to_string(size_) + " && echo it is up && exec sleep infinity";
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(1);
  }
  void look_up(int host) {
    const std::string root = "/proc/" + std::to_string(first_process_) + "/root";
    const std::string name = host == kSwitch ? "switch" : "node" + std::to_string(host);
    std::string pid;
    std::ifstream(root + kState + "/pid." + name) >> pid;
    const auto of_kind = [&](const char* kind) {
      return FileDescriptor(open((root + "/proc/" + pid + "/ns/" + kind).c_str(), O_RDONLY | O_CLOEXEC));
    };
    namespaces_[host] = {of_kind("pid"), {of_kind("net"), of_kind("uts"), of_kind("ipc"), of_kind("mnt")}};
  }

  const int size_;
  const FileDescriptor own_pids_;
  pid_t first_process_ = -1;
  std::map<int, Namespaces> namespaces_;
};

// Tests that need hosts.
class OnHosts : public testing::Test {
 protected:
  void SetUp() override {
    if (!Hosts::obstacle().empty()) GTEST_SKIP() << Hosts::obstacle();
  }
};

}  // namespace wia::field
