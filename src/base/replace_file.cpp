#include "base/replace_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/file_descriptor.hpp"

namespace wia {
namespace {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// Where a link leads, so that it stays a link.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real ? real.get() : path;
}

}  // namespace

Status replace_file(const std::string& path, std::string_view text) {
  const auto cannot = [&] {
    return Status::error(Code::system, "cannot write {}: {}", path, strerror(errno));
  };
  struct stat status {};
  const bool in_place = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const std::string real = real_path(path), beside = in_place ? path : real + ".new";
  FileDescriptor file(open(beside.c_str(), O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_TRUNC), 0666));
  if (!file || !write_all(file.get(), text)) return cannot();
  if (in_place) return {};
  if (fsync(file.get()) != 0 || rename(beside.c_str(), real.c_str()) != 0) return cannot();
  return {};
}

}  // namespace wia
