#include "cli/output.hpp"

#include <errno.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/environment.hpp"

namespace wia::cli {
namespace {

constexpr size_t kLongestLine = 64 << 10;  // longer ones are broken
constexpr size_t kChunk = 4096;            // what a pipe that is ready takes without blocking (PIPE_BUF)

bool wants_colours(int fd) {
  return isatty(fd) && !environment("NO_COLOR") && environment("TERM").value_or("dumb") != "dumb";
}

}  // namespace

OutputSink::OutputSink(int fd) : fd_(fd), colours_(wants_colours(fd)) {}

void OutputSink::add_line(int rank, std::string_view line) {
  if (rank >= 0 && colours_) {
    static constexpr int kColours[] = {36, 33, 32, 35, 34, 31};
    pending_ += fmt::format("\x1b[{}m[{}]\x1b[0m ", kColours[rank % 6], rank);
  } else if (rank >= 0) {
    pending_ += fmt::format("[{}] ", rank);
  }
  pending_ += line;
  pending_ += '\n';
}

void OutputSink::flush() {
  while (!empty()) {
    pollfd ready = {fd_, POLLOUT, 0};
    if (poll(&ready, 1, 0) <= 0) return;
    // Up to a line's end where one is near, as the other stream may go to the same place.
    std::string_view chunk = std::string_view(pending_).substr(written_, kChunk);
    const size_t line_end = chunk.rfind('\n');
    if (line_end != std::string_view::npos) chunk = chunk.substr(0, line_end + 1);
    const ssize_t count = write(fd_, chunk.data(), chunk.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) closed_ = true;
    if (count > 0) written_ += static_cast<size_t>(count);
  }
  pending_.clear();
  written_ = 0;
}

size_t RankStream::read() {
  char buffer[kLongestLine];
  const ssize_t count = ::read(fd(), buffer, sizeof buffer);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (count > 0) pass_lines_on({buffer, static_cast<size_t>(count)});
  if (count > 0 && !sink_->closed()) return static_cast<size_t>(count);
  end_line();
  pipe_.reset();
  return 0;
}

void RankStream::drain() {
  int available = 0;
  if (open()) ioctl(fd(), FIONREAD, &available);
  for (size_t left = static_cast<size_t>(available); left > 0 && open();) {
    const size_t count = read();
    if (count == 0) break;
    left -= std::min(left, count);
  }
  end_line();
}

void RankStream::pass_lines_on(std::string_view bytes) {
  for (size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos; bytes.remove_prefix(end + 1)) {
    partial_ += bytes.substr(0, end);
    sink_->add_line(rank_, partial_);
    partial_.clear();
  }
  partial_ += bytes;
  if (partial_.size() < kLongestLine) return;
  sink_->add_line(rank_, partial_);
  partial_.clear();
}

void RankStream::end_line() {
  if (!partial_.empty()) sink_->add_line(rank_, partial_);
  partial_.clear();
}

void JobOutput::add_rank(int rank, FileDescriptor output, FileDescriptor error) {
  if (output) streams_.emplace_back(rank, std::move(output), out_);
  if (error) streams_.emplace_back(rank, std::move(error), err_);
}

void JobOutput::say(const std::string& line) {
  err_.add_line(-1, line);
  err_.flush();
}

void JobOutput::drain(int rank) {
  for (RankStream& stream : streams_)
    if (stream.rank() == rank) stream.drain();
  out_.flush();
  err_.flush();
}

void JobOutput::add_polls(std::vector<pollfd>& polls) {
  for (const OutputSink* sink : {&out_, &err_})
    if (!sink->empty()) polls.push_back({sink->fd(), POLLOUT, 0});
  polled_.clear();
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (!streams_[i].wants_to_read()) continue;
    polled_.emplace_back(polls.size(), i);
    polls.push_back({streams_[i].fd(), POLLIN, 0});
  }
}

void JobOutput::serve(const std::vector<pollfd>& polls) {
  for (const auto& [position, stream] : polled_)
    if (polls[position].revents != 0) streams_[stream].read();
  out_.flush();
  err_.flush();
}

}  // namespace wia::cli
