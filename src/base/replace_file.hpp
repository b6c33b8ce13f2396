// Writes whole files. Thread safe, for different paths.
#pragma once
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace wia {

// Readers see the file as it was or as it is now, also after this process or the machine was stopped half
// way: the text is written beside it, to PATH.new, which then takes its place. What is no regular file (a
// device, a pipe) is written as it is. Errors (Code::system) name the file and say why.
Status replace_file(const std::string& path, std::string_view text);

}  // namespace wia
