// wia simulate: what collectives would take on a machine of any size.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/parse.hpp"
#include "cli/commands.hpp"
#include "cli/ranks.hpp"
#include "cli/simulate_report.hpp"

namespace wia::cli {
namespace {

constexpr int kMostSimulatedRanks = 65'536;
constexpr uint64_t kMostBytes = uint64_t{1} << 40;
constexpr size_t kTracedActivities = 500'000;
constexpr const char* kVendor = "vendor";

struct Options {
  std::string collective = "all", machine, ranks, sizes = "16M,64M,256M,1G", algorithms, json, trace;
};

std::vector<std::string> split(const char* option, const std::string& list) {
  std::vector<std::string> items;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    if (items.back().empty())
      throw CLI::ValidationError(option, fmt::format("\"{}\" has an empty item", list));
    begin = end + 1;
  }
  return items;
}

std::vector<Collective> collectives_of(const std::string& text) {
  if (text == "all") return {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce};
  std::vector<Collective> collectives;
  for (const std::string& item : split("COLLECTIVE", text)) {
    const auto collective = parse_collective(item);
    if (!collective)
      throw CLI::ValidationError("COLLECTIVE", fmt::format("\"{}\" is no collective, nor all", item));
    collectives.push_back(*collective);
  }
  return collectives;
}

std::vector<uint64_t> sizes_of(const std::string& text) {
  std::vector<uint64_t> sizes;
  for (const std::string& item : split("--sizes", text)) {
    const auto size = parse_size(item);
    if (!size || *size == 0 || *size > kMostBytes)
      throw CLI::ValidationError(
          "--sizes", fmt::format("\"{}\" is no size from 1 byte to 1T; sizes are like 8, 64K, 1.5G", item));
    sizes.push_back(*size);
  }
  return sizes;
}

class Simulator {
 public:
  Simulator(const Options& options, MachineModel model) : options_(options), model_(std::move(model)) {}

  int run() {
    const auto collectives = collectives_of(options_.collective);
    const auto ranks = parse_ranks(options_.ranks, kMostSimulatedRanks);
    if (!ranks)
      throw CLI::ValidationError(
          "--ranks", fmt::format("\"{}\" is no list like 32,64 of numbers from 1 to {}", options_.ranks,
                                 kMostSimulatedRanks));
    if (model_.one_node() && ranks->back() > model_.ranks_per_node)
      throw CLI::ValidationError("--ranks", fmt::format("{} has no network: at most {} ranks, not {}",
                                                        model_.name, model_.ranks_per_node, ranks->back()));
    const auto sizes = sizes_of(options_.sizes);
    check_json_file(options_.json);
    check_algorithms(collectives);
    if (!options_.trace.empty()) check_trace(collectives.size() * ranks->size() * sizes.size());
    say(simulation_header(model_));
    for (const Collective collective : collectives)
      for (const int count : *ranks) {
        say(simulation_group_header(model_, {collective, count, 0}));
        for (const uint64_t size : sizes) run_call({collective, count, size});
      }
    if (!options_.json.empty()) write_json(simulation_json(model_, rows_), options_.json);
    return 0;
  }

 private:
  void say(const std::string& text) const {
    if (options_.json == "-") return;
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  std::vector<std::string> named() const {
    return options_.algorithms.empty() ? std::vector<std::string>()
                                       : split("--algorithm", options_.algorithms);
  }

  // What was named must be there for some collective; `all` and `auto` always are.
  void check_algorithms(const std::vector<Collective>& collectives) const {
    for (const std::string& name : named()) {
      if (name == "all" || name == "auto" || name == kPccl || name == kPcclRing || name == kVendor) continue;
      Status status;
      const bool known = std::any_of(collectives.begin(), collectives.end(), [&](Collective collective) {
        auto found = find_algorithm(collective, name);
        if (!found) status = found.take_status();
        return found.ok() || vendor_called(collective, name);
      });
      if (!known) throw CLI::ValidationError("--algorithm", status.text());
    }
  }

  void check_trace(size_t calls) const {
    const auto names = named();
    if (calls != 1 || names.size() != 1 || names[0] == "all" || names[0].starts_with(kVendor))
      throw CLI::ValidationError("--trace",
                                 "is of one simulation: one collective, --ranks, --sizes and --algorithm, "
                                 "which is not the vendor's");
  }

  const VendorModel* vendor_called(Collective collective, const std::string& name) const {
    for (const VendorModel& vendor : model_.vendors)
      if (vendor.collective == collective && vendor.algorithm() == name) return &vendor;
    return nullptr;
  }

  // What is simulated of a collective, in the order of the table.
  std::vector<std::string> names_for(Collective collective) const {
    std::vector<std::string> names;
    const auto add_others = [&] {
      for (const VendorModel& vendor : model_.vendors)
        if (vendor.collective == collective) names.push_back(vendor.algorithm());
      if (has_pccl(collective)) names.emplace_back(kPccl);
    };
    if (named().empty()) {
      add_others();
      names.emplace_back("auto");
    }
    for (const std::string& name : named()) {
      if (name != "all") {
        names.push_back(name);
        continue;
      }
      add_others();
      for (const Algorithm* algorithm : algorithms_of(collective)) names.emplace_back(algorithm->name);
    }
    return names;
  }
  static bool has_pccl(Collective collective) {
    return collective == Collective::all_gather || collective == Collective::reduce_scatter ||
           collective == Collective::all_reduce;
  }

  void run_call(const SimulatedCall& call) {
    const VendorModel* healthy = vendor_called(call.collective, kVendor);
    std::optional<double> vendor_us;
    if (healthy) vendor_us = simulate_vendor(model_, call, *healthy).end.us;
    for (const std::string& name : names_for(call.collective)) {
      auto result = run_algorithm(call, name);
      if (!result) {
        say(fmt::format("{:>6} {}: {}\n", "", name, result.status().text()));
        continue;
      }
      rows_.push_back({call, std::move(*result), name == "auto", vendor_us});
      say(simulation_line(rows_.back()));
    }
  }

  Result<SimulationResult> run_algorithm(const SimulatedCall& call, const std::string& name) const {
    if (const VendorModel* vendor = vendor_called(call.collective, name))
      return simulate_vendor(model_, call, *vendor);
    if (name.starts_with(kVendor))
      return Status::error(Code::unsupported, "{} has no model of it for {}", model_.name,
                           name_of(call.collective));
    auto result = name == "auto" ? simulate_best(model_, call) : simulate(model_, call, name);
    if (!result || options_.trace.empty()) return result;
    Trace trace(kTracedActivities);
    auto again = simulate(model_, call, result->algorithm, result->slicing, &trace);
    if (!again) return again;
    write_text(trace.text(fmt::format("{} {} of {} bytes, {} ranks of {}", name_of(call.collective),
                                      result->algorithm, call.bytes, call.ranks, model_.name)),
               options_.trace);
    if (trace.left_out() > 0)
      fmt::print(stderr, "wia simulate: {} holds the first {} activities, {} are left out\n", options_.trace,
                 trace.entries().size(), trace.left_out());
    return result;
  }

  const Options& options_;
  const MachineModel model_;
  std::vector<SimulatedRow> rows_;
};

int run(const Options& options) {
  auto model = find_machine_model(options.machine);
  if (!model) throw CLI::ValidationError("--machine", model.status().text());
  return Simulator(options, std::move(*model)).run();
}

}  // namespace

void add_simulate(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("simulate", "Times collectives on a machine that is simulated");
  auto options = std::make_shared<Options>();
  command->add_option("COLLECTIVE", options->collective,
                      "Collectives, a,b, or all: all_gather, reduce_scatter, all_reduce (default)");
  command
      ->add_option(
          "--machine", options->machine,
          fmt::format("{}; or the file of a machine or a topology", fmt::join(machine_names(), ", ")))
      ->required();
  command->add_option("--ranks", options->ranks, "Numbers of ranks: 32,2048")->required();
  command->add_option("--sizes", options->sizes, "Bytes (default " + options->sizes + ")");
  command->add_option("--algorithm", options->algorithms,
                      "Algorithms, a,b: names of the table, vendor, vendor-pathological, pccl, pccl_ring,\n"
                      "auto (the library's best), all; default: the vendor's, pccl, auto");
  command->add_option("--json", options->json, "Also writes the result to this file; -: only, to stdout");
  command->add_option("--trace", options->trace, "Writes a timeline of one simulation, for chrome://tracing");
  command->footer(
      "The engine runs the schedules of all ranks under a simulated clock. Exit code: 0 good, 2 usage.");
  command->callback([=, &invocation] { invocation.exit_code = run(*options); });
}

}  // namespace wia::cli
