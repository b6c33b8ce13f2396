// Reads whole files. Thread safe.
#pragma once
#include <string>

#include "base/status.hpp"

namespace wia {

// Only a regular file of at most `most` bytes; errors (Code::system) name the file and say why. It does not
// wait, whatever the path names.
Result<std::string> read_file(const std::string& path, size_t most);

}  // namespace wia
