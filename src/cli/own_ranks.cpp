#include "cli/own_ranks.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <stdexcept>

#include "base/environment.hpp"
#include "base/machine.hpp"
#include "cli/launcher.hpp"

namespace wia::cli {

Launch find_launch() {
  auto found = detect_launch([](const char* name) { return environment(name); });
  if (!found) throw std::runtime_error(found.status().text());
  return std::move(*found);
}

int start_own_ranks(const std::string& name, int ranks, const std::vector<std::string>& arguments) {
  LaunchOptions how;
  how.ranks = ranks > 0 ? ranks : kRanksWithoutOption;
  how.bind_cores = how.ranks <= static_cast<int>(allowed_cpus());
  how.prefix = false;
  how.name = name;
  std::vector<std::string> command = arguments;
  command.insert(command.begin(), "/proc/self/exe");
  return launch(how, command);
}

void check_ranks(int asked, const Launch& found) {
  if (asked > 0 && asked != found.size)
    throw CLI::ValidationError(
        "-n", fmt::format("{}, but {} has started {} ranks", asked, found.launcher, found.size));
}

wia_communicator_t* join_world() {
  wia_communicator_t* world = nullptr;
  if (wia_init(&world) != WIA_SUCCESS) throw std::runtime_error(wia_last_error_message());
  return world;
}

}  // namespace wia::cli
