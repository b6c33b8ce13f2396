// The subcommands of `wia`. Each has a file of its own, which declares its options and runs it.
//
// A subcommand's callback stores its exit code: 0 good, 1 a check failed. What is wrong with an option is
// thrown as CLI::ValidationError (name of the option, text); main prints it as one line and exits with 2.
#pragma once
#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

namespace wia::cli {

struct Invocation {
  // What stands after "--": a program and its arguments. Only `run` takes one.
  std::optional<std::vector<std::string>> program;
  std::vector<std::string> arguments;  // those before "--", from the subcommand's name on
  int exit_code = 0;
};

// What --json names can be written; what is in the file stays. "" and "-" always can. Before any work.
void check_json_file(const std::string& path);

void add_bench(CLI::App& app, Invocation& invocation);
void add_doctor(CLI::App& app, Invocation& invocation);
void add_run(CLI::App& app, Invocation& invocation);
void add_plan(CLI::App& app, Invocation& invocation);
void add_simulate(CLI::App& app, Invocation& invocation);
void add_topology(CLI::App& app, Invocation& invocation);
void add_tune(CLI::App& app, Invocation& invocation);
void add_verify(CLI::App& app, Invocation& invocation);

}  // namespace wia::cli
