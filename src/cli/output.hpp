// Passes the output of ranks on, whole lines at a time, each with its rank in front.
//
// Not thread safe. Never blocks: what the reader of this process's own output does not take yet is kept, and
// when that is much, the ranks are not read until it is taken. When the reader is gone, the ranks' pipes are
// closed, and they see what they would have seen without a launcher.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"

struct pollfd;

namespace wia::cli {

// This process's stdout or stderr.
class OutputSink {
 public:
  explicit OutputSink(int fd);
  void add_line(int rank, std::string_view line);  // without its end; rank < 0: no prefix
  // Writes what goes without waiting.
  void flush();
  int fd() const { return fd_; }
  bool empty() const { return closed_ || written_ == pending_.size(); }
  bool full() const { return pending_.size() - written_ > (1 << 20); }
  bool closed() const { return closed_; }

 private:
  int fd_;
  bool colours_;
  bool closed_ = false;  // the reader is gone
  std::string pending_;
  size_t written_ = 0;
};

// One stream of one rank.
class RankStream {
 public:
  RankStream(int rank, FileDescriptor pipe, OutputSink& sink)
      : rank_(rank), pipe_(std::move(pipe)), sink_(&sink) {}
  int rank() const { return rank_; }
  int fd() const { return pipe_.get(); }
  bool open() const { return static_cast<bool>(pipe_); }
  bool wants_to_read() const { return open() && !sink_->full(); }
  // Reads once, and gives how many bytes came; closes at the end.
  size_t read();
  // Reads what is there now (not what somebody goes on to write), and ends the last line.
  void drain();

 private:
  void pass_lines_on(std::string_view bytes);
  void end_line();

  int rank_;
  FileDescriptor pipe_;
  OutputSink* sink_;
  std::string partial_;  // a line without its end yet
};

// All streams of a job.
class JobOutput {
 public:
  JobOutput() : out_(1), err_(2) {}
  void add_rank(int rank, FileDescriptor output, FileDescriptor error);
  // A line of the launcher's own, on stderr.
  void say(const std::string& line);
  // Passes on all that a rank has written so far.
  void drain(int rank);
  bool empty() const { return out_.empty() && err_.empty(); }

  // Adds what to wait for; serve() does what poll() has marked in the same list.
  void add_polls(std::vector<pollfd>& polls);
  void serve(const std::vector<pollfd>& polls);

 private:
  OutputSink out_, err_;
  std::vector<RankStream> streams_;
  std::vector<std::pair<size_t, size_t>> polled_;  // position in the list, position in streams_
};

}  // namespace wia::cli
