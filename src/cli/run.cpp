// wia run: starts the ranks of a job on this host.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/parse.hpp"
#include "cli/commands.hpp"
#include "cli/launcher.hpp"

namespace wia::cli {
namespace {

struct Options {
  int ranks = 0;
  std::string bind = "none";
  std::string timeout;
  bool no_prefix = false;
};

int run(const Options& options, const Invocation& invocation, const std::vector<std::string>& extras) {
  if (!extras.empty())
    throw CLI::ValidationError(extras.front(), invocation.program
                                                   ? "not an option of wia run"
                                                   : "not an option; the program follows after --");
  if (!invocation.program || invocation.program->empty())
    throw CLI::ValidationError("the program is missing: wia run -n N -- PROGRAM [ARGUMENTS...]");
  LaunchOptions launch_options;
  launch_options.ranks = options.ranks;
  launch_options.bind_cores = options.bind == "core";
  launch_options.prefix = !options.no_prefix;
  if (!options.timeout.empty()) {
    const auto milliseconds = parse_seconds(options.timeout);
    if (!milliseconds || *milliseconds == 0)
      throw CLI::ValidationError("--timeout",
                                 fmt::format("\"{}\" is no time in seconds above 0", options.timeout));
    launch_options.timeout_ms = *milliseconds;
  }
  return launch(launch_options, *invocation.program);
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("run", "Starts N ranks of a program on this host");
  auto options = std::make_shared<Options>();
  command->add_option("-n,--ranks", options->ranks, "Number of ranks")
      ->required()
      ->check(CLI::Range(1, 4096));
  command->add_option("--bind", options->bind, "core: rank r runs on the r-th allowed CPU; none (default)")
      ->check(CLI::IsMember({"none", "core"}));
  command->add_option("--timeout", options->timeout, "Seconds after which the job is ended (exit code 124)");
  command->add_flag("--no-prefix", options->no_prefix, "Leave output lines as they are, without \"[rank] \"");
  command->footer(
      "The program follows after --:  wia run -n 4 -- ./train --epochs 3\n"
      "Exit code: that of the first rank that fails (128 + signal), 0 when none does; 127: no such program;\n"
      "124: timeout; 2: usage.");
  // Taken only to say what is wrong with them.
  command->allow_extras();
  command->callback(
      [=, &invocation] { invocation.exit_code = run(*options, invocation, command->remaining()); });
}

}  // namespace wia::cli
