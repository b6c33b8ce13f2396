// The only place that reads environment variables.
//
// Thread safe as long as nobody changes the environment meanwhile (setenv in another thread).
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace wia {

std::optional<std::string> environment(const char* name);

// The whole environment as NAME=VALUE, for a process that is to be started.
std::vector<std::string> environment_entries();

}  // namespace wia
