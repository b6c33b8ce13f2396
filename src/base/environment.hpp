// The only place that reads environment variables.
#pragma once
#include <optional>
#include <string>

namespace wia {

std::optional<std::string> environment(const char* name);

}  // namespace wia
