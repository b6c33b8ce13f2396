// The command `wia` as a child process, for tests: its output, exit code, and whether anything of it is left.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/file_descriptor.hpp"

namespace wia {

class Command {
 public:
  explicit Command(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), WIA_BINARY_DIR "/wia");
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const auto in = make_pipe(), out = make_pipe(), err = make_pipe(), life = make_pipe();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0), dup2(out[1], 1), dup2(err[1], 2);
      fcntl(life[1], F_SETFD, 0);  // held by every process that comes of this one
      setpgid(0, 0);
      execv(pointers[0], pointers.data());
      _exit(99);
    }
    for (const int fd : {in[0], out[1], err[1], life[1]}) close(fd);
    output_.reset(out[0]), error_.reset(err[0]), life_.reset(life[0]);
    EXPECT_EQ(write(in[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
    close(in[1]);
  }
  ~Command() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    wait(20'000);
  }

  // Reads until `text` has been seen on stdout.
  bool shows(const std::string& text, int ms = 10'000) {
    const Deadline deadline = Deadline::after_ms(ms);
    while (output.find(text) == std::string::npos)
      if (!read_some(deadline)) return false;
    return true;
  }
  void send(int signal) const { kill(pid_, signal); }
  void close_output() { output_.reset(); }

  // Reads all output and waits for the end; the exit code as a shell gives it, -1: still running.
  int wait(int ms = 20'000) {
    const Deadline deadline = Deadline::after_ms(ms);
    while (read_some(deadline)) {
    }
    if (deadline.passed()) kill(pid_, SIGKILL);
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) return -1;
    pid_ = -1;
    if (deadline.passed()) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Whether every process that came of the command ends within the time.
  bool leaves_nothing(int ms = 5'000) const {
    pollfd entry = {life_.get(), POLLIN, 0};
    return poll(&entry, 1, ms) > 0;
  }

  std::string output, error;

 private:
  static std::array<int, 2> make_pipe() {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    return ends;
  }
  static void read_into(FileDescriptor& fd, std::string& text) {
    char buffer[65536];
    const ssize_t count = read(fd.get(), buffer, sizeof buffer);
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
    if (count <= 0) fd.reset();
  }
  // False: both streams have ended, or the deadline passed.
  bool read_some(Deadline deadline) {
    pollfd entries[2] = {{output_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}};
    if (!output_ && !error_) return false;
    if (poll(entries, 2, deadline.left_ms()) <= 0) return false;
    if (entries[0].revents) read_into(output_, output);
    if (entries[1].revents) read_into(error_, error);
    return true;
  }

  pid_t pid_ = -1;
  FileDescriptor output_, error_, life_;
};

inline std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace wia
