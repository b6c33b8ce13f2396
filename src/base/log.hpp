// Log lines for people, on stderr; silent below the level in Config::log_level (default: warning).
// Thread safe. Never called on the data path.
#pragma once
#include <fmt/core.h>

#include <string>

namespace wia::log {

enum class Level { debug, info, warning, error, off };

void set_level(Level level);
bool enabled(Level level);
// Shown in front of each line, e.g. "rank 3".
void set_prefix(const std::string& prefix);
void write(Level level, const std::string& text);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::debug)) write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::info)) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::warning)) write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace wia::log
