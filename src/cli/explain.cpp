// wia explain: which algorithm a call would use, what else there is, and why.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>

#include "base/config.hpp"
#include "base/json.hpp"
#include "base/parse.hpp"
#include "cli/commands.hpp"
#include "cli/ranks.hpp"
#include "dispatch/dispatcher.hpp"
#include "reduce/dtype.hpp"

namespace wia::cli {
namespace {

struct Options {
  std::string collective, size, dtype = "float32", tuning, selector, json;
  int ranks = 2, nodes = 1;
  bool all = false;
};

constexpr size_t kShown = 6;  // candidates of a selector, without --all

CallKind kind_of(const Options& options) {
  const auto collective = parse_collective(options.collective);
  if (!collective)
    throw CLI::ValidationError("COLLECTIVE", fmt::format("\"{}\" is no collective", options.collective));
  const auto bytes = parse_size(options.size);
  if (!bytes)
    throw CLI::ValidationError("--size", fmt::format("\"{}\" is no size, as 8, 64K, 1.5G", options.size));
  const auto dtype = parse_dtype(options.dtype);
  if (!dtype) throw CLI::ValidationError("--dtype", fmt::format("\"{}\" is no type", options.dtype));
  return {*collective, *bytes, size_of(*dtype)};
}

// Ranks in order on nodes of nearly equal size.
Group group_of(const Options& options) {
  if (options.nodes > options.ranks)
    throw CLI::ValidationError("--nodes", fmt::format("{} is not in 1..{}", options.nodes, options.ranks));
  Group group;
  group.ranks = options.ranks;
  for (int r = 0; r < options.ranks; ++r)
    group.nodes.push_back(static_cast<int>(int64_t{r} * options.nodes / options.ranks));
  group.units = {group.nodes};
  return group;
}

std::shared_ptr<const Tuning> read_usable(const std::string& path) {
  if (path.empty()) return nullptr;
  auto tuning = read_tuning(path);
  Status status = tuning ? check_tactics(tuning.value(), path) : tuning.take_status();
  if (!status.ok()) throw CLI::ValidationError("--tuning", status.text());
  return std::make_shared<const Tuning>(std::move(tuning.value()));
}

Json json_of(const Options& options, const CallKind& kind, const Tactic& chosen,
             const std::vector<Dispatcher::Opinion>& opinions) {
  Json json = {{"schema", "wia.explain/1"}, {"collective", name_of(kind.collective)},
               {"bytes", kind.bytes},       {"ranks", options.ranks},
               {"nodes", options.nodes},    {"choice", name_of(chosen)},
               {"selectors", Json::array()}};
  for (const auto& opinion : opinions) {
    Json one = {{"selector", opinion.selector},
                {"counts", opinion.counts},
                {"note", opinion.why},
                {"candidates", Json::array()}};
    for (const Candidate& candidate : opinion.candidates)
      one["candidates"].push_back({{"name", candidate.name}, {"reason", candidate.reason}});
    json["selectors"].push_back(std::move(one));
  }
  return json;
}

void print(const Options& options, const CallKind& kind, const Tactic& chosen,
           const std::vector<Dispatcher::Opinion>& opinions) {
  fmt::print("{} of {} bytes, {} ranks on {} node{}: {}\n  {}\n", name_of(kind.collective), kind.bytes,
             options.ranks, options.nodes, options.nodes == 1 ? "" : "s", name_of(chosen),
             chosen.algorithm->summary);
  for (const auto& opinion : opinions) {
    fmt::print("{}{}{}{}\n", opinion.selector, opinion.counts ? " (its choice counts)" : "",
               opinion.why.empty() ? "" : ": ", opinion.why);
    size_t shown = 0;
    for (const Candidate& candidate : opinion.candidates) {
      if (++shown > kShown && !options.all) {
        fmt::print("    ... ({} more: --all)\n", opinion.candidates.size() - kShown);
        break;
      }
      fmt::print("  {} {:<34} {}\n", shown == 1 ? '>' : ' ', candidate.name, candidate.reason);
    }
  }
}

int run(Options options) {
  auto config = Config::from_environment();
  if (!config) throw std::runtime_error(config.status().text());
  if (options.tuning.empty()) options.tuning = config->tuning;
  if (options.selector.empty()) options.selector = config->selector;
  const auto selection = parse_selection(options.selector);
  if (!selection)
    throw CLI::ValidationError("--selector",
                               fmt::format("\"{}\"; there are auto, rules, model and svm", options.selector));
  const CallKind kind = kind_of(options);
  check_json_file(options.json);
  Dispatcher dispatcher(group_of(options), read_usable(options.tuning), *selection);
  const Tactic chosen = dispatcher.choose(kind);
  const auto opinions = dispatcher.explain(kind);
  if (options.json != "-") print(options, kind, chosen, opinions);
  if (!options.json.empty()) write_text(json_text(json_of(options, kind, chosen, opinions)), options.json);
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("explain", "Says which algorithm a call would use, and why");
  auto options = std::make_shared<Options>();
  command->add_option("COLLECTIVE", options->collective, "A collective")->required();
  command->add_option("--size", options->size, "Bytes of the call: 8, 64K, 1.5G")->required();
  command->add_option("-n,--ranks", options->ranks, "Number of ranks (default 2)")
      ->check(CLI::Range(1, kMostRanks));
  command->add_option("--nodes", options->nodes, "Nodes that they are spread over, in order (default 1)")
      ->check(CLI::Range(1, kMostRanks));
  command->add_option("--dtype", options->dtype, "Type of the elements (float32)");
  command->add_option("--tuning", options->tuning, "A tuning file; without: WIA_TUNING");
  command->add_option("--selector", options->selector,
                      "Who chooses: auto, rules, model, svm; without: WIA_SELECTOR");
  command->add_flag("--all", options->all, "All candidates, not only the first");
  command->add_option("--json", options->json, "Also as JSON into this file; \"-\": instead, to stdout");
  command->callback([=, &invocation] { invocation.exit_code = run(*options); });
}

}  // namespace wia::cli
