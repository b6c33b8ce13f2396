#include "base/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_descriptor.hpp"

namespace wia {
namespace {

std::string size_text(size_t bytes) {
  return bytes >> 30 ? fmt::format("{} GiB", bytes >> 30) : fmt::format("{} MiB", bytes >> 20);
}

}  // namespace

Result<std::string> read_file(const std::string& path, size_t most) {
  const auto cannot = [&](const std::string& why) {
    return Status::error(Code::system, "{} cannot be read: {}", path, why);
  };
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return cannot(strerror(errno));
  if (!S_ISREG(status.st_mode))
    return cannot(S_ISDIR(status.st_mode) ? "it is a directory" : "it is no file");
  if (static_cast<size_t>(status.st_size) > most) return cannot("it is larger than " + size_text(most));
  std::string text(static_cast<size_t>(status.st_size), '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + got, text.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot(strerror(errno));
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  text.resize(got);
  return text;
}

}  // namespace wia
