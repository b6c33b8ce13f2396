// wia verify: proves algorithms.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/json.hpp"
#include "base/machine.hpp"
#include "cli/commands.hpp"
#include "cli/ranks.hpp"
#include "verify/verify.hpp"

namespace wia::cli {
namespace {

struct Options {
  std::string collective = "all";
  std::string ranks = "1-33,48,64,100,128,2048";
  std::string algorithm = "all";
  std::string json;
};

std::vector<const Algorithm*> chosen(const Options& options) {
  const auto collective = parse_collective(options.collective);
  if (!collective && options.collective != "all")
    throw CLI::ValidationError("COLLECTIVE",
                               fmt::format("\"{}\" is no collective, nor all", options.collective));
  std::vector<const Algorithm*> algorithms;
  for (const Algorithm& algorithm : all_algorithms())
    if ((!collective || algorithm.collective == *collective) &&
        (options.algorithm == "all" || algorithm.name == options.algorithm))
      algorithms.push_back(&algorithm);
  if (!algorithms.empty()) return algorithms;
  if (!collective)
    throw CLI::ValidationError("--algorithm", fmt::format("no collective has \"{}\"", options.algorithm));
  auto found = find_algorithm(*collective, options.algorithm);
  if (!found) throw CLI::ValidationError("--algorithm", found.status().text());
  return {*found};
}

void show_progress(size_t done, size_t all, const Proof& proof) {
  fmt::print(stderr, "\r\033[K{} of {}: {} {}", done, all, name_of(proof.algorithm->collective),
             proof.algorithm->name);
  if (done == all) fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

void print(const std::vector<Proof>& proofs) {
  fmt::print("{:<14} {:<22} {:<25} {:>7} {:>8} {:>7}\n", "collective", "algorithm", "ranks proven", "cases",
             "runs", "time s");
  for (const Proof& proof : proofs) {
    const std::string proven = proof.proven.empty() ? "none" : format_ranks(proof.proven);
    fmt::print("{:<14} {:<22} {:<25} {:>7} {:>8} {:>7.2f}{}\n", name_of(proof.algorithm->collective),
               proof.algorithm->name, proven, proof.cases, proof.runs, proof.seconds,
               proof.failure.empty() ? "" : "  FAILS");
    if (!proof.unsupported.empty())
      fmt::print("{:37} not offered for {} ranks\n", "", format_ranks(proof.unsupported));
  }
  for (const Proof& proof : proofs) {
    if (proof.failure.empty()) continue;
    const std::string_view collective = name_of(proof.algorithm->collective);
    fmt::print("\n{} {} fails with {}\nto repeat: wia verify {} --algorithm {} --ranks {}\n", collective,
               proof.algorithm->name, proof.failure, collective, proof.algorithm->name, proof.failed_ranks);
  }
}

Json to_json(const std::vector<Proof>& proofs, const std::vector<int>& ranks, bool good) {
  Json json;
  json["schema"] = "wia.verify/1";
  json["ranks"] = ranks;
  json["good"] = good;
  json["results"] = Json::array();
  for (const Proof& proof : proofs) {
    Json& result = json["results"].emplace_back();
    result["collective"] = name_of(proof.algorithm->collective);
    result["algorithm"] = proof.algorithm->name;
    result["proven"] = proof.proven;
    result["not_offered"] = proof.unsupported;
    result["cases"] = proof.cases;
    result["runs"] = proof.runs;
    result["seconds"] = proof.seconds;
    result["failure"] = nullptr;
    if (!proof.failure.empty()) result["failure"] = {{"ranks", proof.failed_ranks}, {"text", proof.failure}};
  }
  return json;
}

int run(const Options& options) {
  const std::vector<const Algorithm*> algorithms = chosen(options);
  const auto ranks = parse_ranks(options.ranks);
  if (!ranks)
    throw CLI::ValidationError(
        "--ranks",
        fmt::format("\"{}\" is no list like 1-33,64 of numbers from 1 to {}", options.ranks, kMostRanks));
  check_json_file(options.json);
  VerifyOptions verify_options;
  verify_options.ranks = *ranks;
  verify_options.threads = std::max(1, static_cast<int>(allowed_cpus()));
  if (isatty(STDERR_FILENO)) verify_options.progress = show_progress;
  const std::vector<Proof> proofs = verify_all(algorithms, verify_options);

  const bool good =
      std::all_of(proofs.begin(), proofs.end(), [](const Proof& proof) { return proof.failure.empty(); });
  if (options.json != "-") print(proofs);
  if (!options.json.empty()) write_json(to_json(proofs, *ranks, good), options.json);
  return good ? 0 : 1;
}

}  // namespace

void add_verify(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("verify", "Proves that algorithms give the right result");
  auto options = std::make_shared<Options>();
  command->add_option("COLLECTIVE", options->collective, "A collective, or all (default)");
  command->add_option("--ranks", options->ranks, "Numbers of ranks (default " + options->ranks + ")");
  command->add_option("--algorithm", options->algorithm, "An algorithm of it, or all (default)");
  command->add_option("--json", options->json, "Also writes the result to this file; -: only, to stdout");
  command->footer(
      "Every rank's schedule is run by the engine, in this process, on numbers that show every wrong, "
      "missing or\n"
      "doubled contribution; in many orders, with little room for messages, with and without copies.\n"
      "Exit code: 0 all proven, 1 something fails, 2 usage.");
  command->callback([=, &invocation] { invocation.exit_code = run(*options); });
}

}  // namespace wia::cli
