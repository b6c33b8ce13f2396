#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>

namespace wia::log {
namespace {

std::atomic<Level> level_{Level::warning};

// Never destroyed: a thread may still log while the process runs its exit handlers.
spdlog::logger& logger() {
  static auto* instance = [] {
    auto* made = new spdlog::logger("wia", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("wia %L %v");
    made->set_level(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_level(Level level) { level_.store(level, std::memory_order_relaxed); }

bool enabled(Level level) { return level >= level_.load(std::memory_order_relaxed); }

void set_prefix(const std::string& prefix) { logger().set_pattern("wia %L [" + prefix + "] %v"); }

void write(Level level, const std::string& text) {
  if (!enabled(level)) return;
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err};
  logger().log(kLevels[static_cast<int>(level)], text);
}

}  // namespace wia::log
