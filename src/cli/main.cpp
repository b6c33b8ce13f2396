// The command `wia`: parses the command line, runs one subcommand, prints errors as one line.
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>

#include "cli/commands.hpp"
#include "wia/wia.h"

namespace wia::cli {
namespace {

constexpr int kUsageError = 2;

// Descriptors 0 to 2 exist from here on, so that no pipe or socket takes their place.
void open_missing_standard_streams() {
  int fd = 0;
  do fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// "wia run", as far as it was understood.
std::string name_of_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "wia" : "wia " + chosen.front()->get_name();
}

int run(CLI::App& app, Invocation& invocation, std::vector<std::string> arguments) {
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
    if (app.get_subcommands().empty())
      throw CLI::ValidationError("a command is missing; wia --help lists them");
    return invocation.exit_code;
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}: {}\n", name_of_command(app), one_line(error.what()));
    return kUsageError;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name_of_command(app), one_line(error.what()));
    return 1;
  }
}

}  // namespace

void check_json_file(const std::string& path) {
  if (path.empty() || path == "-") return;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0)
    throw CLI::ValidationError("--json", fmt::format("\"{}\" cannot be written: {}", path, strerror(errno)));
  close(fd);
}

}  // namespace wia::cli

int main(int argc, char** argv) {
  using namespace wia::cli;
  open_missing_standard_streams();
  std::vector<std::string> arguments(argv + 1, argv + argc);
  Invocation invocation;
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  if (separator != arguments.end()) {
    invocation.program.emplace(separator + 1, arguments.end());
    arguments.erase(separator, arguments.end());
  }
  invocation.arguments = arguments;

  CLI::App app("Collective communication for deep learning");
  app.name("wia");
  app.set_version_flag("--version",
                       fmt::format("wia {}.{}.{}", WIA_VERSION_MAJOR, WIA_VERSION_MINOR, WIA_VERSION_PATCH));
  app.require_subcommand(0, 1);
  add_bench(app, invocation);
  add_doctor(app, invocation);
  add_run(app, invocation);
  add_plan(app, invocation);
  add_simulate(app, invocation);
  add_topology(app, invocation);
  add_tune(app, invocation);
  add_verify(app, invocation);
  return run(app, invocation, std::move(arguments));
}
