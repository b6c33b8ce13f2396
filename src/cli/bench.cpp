// wia bench: times collectives and checks their results.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <stdexcept>

#include "algorithms/algorithm.hpp"
#include "base/environment.hpp"
#include "base/wait.hpp"
#include "bootstrap/launch.hpp"
#include "cli/bench_measure.hpp"
#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/launcher.hpp"
#include "cli/machine.hpp"

namespace wia::cli {
namespace {

using namespace bench;

// Rows on the way: to stdout, or to stderr where stdout belongs to JSON.
class Report {
 public:
  Report(const Options& options, bool shown)
      : options_(options), out_(options.json == "-" ? stderr : stdout), shown_(shown) {}

  void title(int ranks) const {
    if (!shown_) return;
    fmt::print(out_, "{} ranks, {} buffers, {}\n", ranks, options_.wia_memory ? "wia_alloc" : "ordinary",
               options_.in_place ? "in place" : "out of place");
    fmt::print(out_, "{:>14} {:>12} {:>10} {:>9} {:>5} {:>4} {:>20} {:>11} {:>11} {:>9} {:>9} {:>7}\n",
               "collective", "bytes", "count", "type", "op", "root", "algorithm", "median us", "p99 us",
               "algbw", "busbw", "#wrong");
  }
  void add(const Line& line) {
    if (!shown_) return;
    const Shape& s = line.shape;
    const std::string root = rooted(s.kind) ? std::to_string(s.root) : "-";
    fmt::print(out_, "{:>14} {:>12} {:>10} {:>9} {:>5} {:>4} {:>20} ", bench::name_of(s.kind), line.bytes,
               s.count, wia::name_of(s.dtype), combines(s.kind) ? wia::name_of(s.op) : "-", root,
               line.algorithm);
    if (!line.skipped.empty()) {
      fmt::print(out_, "not measured: {}\n", line.skipped);
      return;
    }
    fmt::print(out_, "{:>11.2f} {:>11.2f} {:>9.3f} {:>9.3f} {:>7}\n", line.median_us, line.p99_us,
               line.algorithm_bandwidth, line.bus_bandwidth, line.checked ? std::to_string(line.wrong) : "-");
    std::fflush(out_);
    results_.push_back({{"collective", bench::name_of(s.kind)},
                        {"algorithm", line.algorithm},
                        {"ranks", s.ranks},
                        {"bytes", line.bytes},
                        {"count", s.count},
                        {"dtype", wia::name_of(s.dtype)},
                        {"op", combines(s.kind) ? Json(wia::name_of(s.op)) : Json(nullptr)},
                        {"in_place", line.in_place},
                        {"iterations", line.iterations},
                        {"median_us", line.median_us},
                        {"p99_us", line.p99_us},
                        {"min_us", line.min_us},
                        {"algbw_GBps", line.algorithm_bandwidth},
                        {"busbw_GBps", line.bus_bandwidth},
                        {"wrong", line.checked ? Json(line.wrong) : Json(nullptr)}});
  }
  void finish(int ranks) const {
    if (!shown_ || options_.json.empty()) return;
    const Json conditions = {
        {"host", host_name()},
        {"cpu", cpu_model()},
        {"allowed_cpus", allowed_cpus()},
        {"ranks", ranks},
        {"nodes", 1},
        {"transport", "shm"},
        {"version", wia_version()},
        {"timing",
         "per call, from the first rank's start to the last rank's end; barrier before it not counted"}};
    write_json({{"schema", "wia.bench/1"}, {"conditions", conditions}, {"results", results_}}, options_.json);
  }

 private:
  const Options& options_;
  std::FILE* const out_;
  const bool shown_;
  Json results_ = Json::array();
};

std::vector<std::string> algorithms_for(const Options& options, Kind kind) {
  if (!kind || options.algorithm == "auto") return {"auto"};
  if (options.algorithm != "all") return {options.algorithm};
  std::vector<std::string> names;
  for (const Algorithm* algorithm : algorithms_of(*kind)) names.emplace_back(algorithm->name);
  return names;
}

// Elements a call takes for so many bytes, and the bytes that these are.
void set_count(Line* line, uint64_t bytes) {
  Shape& s = line->shape;
  const bool blocks = s.kind && (*s.kind == Collective::all_gather || *s.kind == Collective::gather ||
                                 *s.kind == Collective::reduce_scatter || *s.kind == Collective::scatter ||
                                 *s.kind == Collective::all_to_all);
  const size_t per = size_of(s.dtype) * (blocks ? static_cast<size_t>(s.ranks) : 1);
  s.count = s.kind == Collective::barrier ? 0 : bytes / per;
  if (bytes > 0 && s.count == 0 && s.kind != Collective::barrier) s.count = 1;
  line->bytes = s.count * per;
}

void check_memory(const Options& options, int ranks) {
  const uint64_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
  const auto available = memory().available;
  if (available && largest > *available / 2 / static_cast<uint64_t>(ranks))
    throw CLI::ValidationError(
        options.size_flag,
        fmt::format("{} bytes twice on each of {} ranks are more than the {} bytes of memory that are free",
                    largest, ranks, *available));
}

size_t measure_all(const Options& options, wia_communicator_t* comm, Report& report) {
  size_t wrong = 0;
  Line line;
  line.in_place = options.in_place;
  line.checked = options.check;
  line.shape.rank = wia_rank(comm);
  line.shape.ranks = wia_size(comm);
  line.shape.root = options.root;
  for (const Kind kind : options.kinds) {
    line.shape.kind = kind;
    const bool barrier = kind == Collective::barrier;
    for (const std::string& algorithm : algorithms_for(options, kind)) {
      line.algorithm = algorithm;
      if (kind && wia_communicator_set_algorithm(comm, bench::name_of(kind).c_str(), algorithm.c_str()) !=
                      WIA_SUCCESS) {
        line.skipped = wia_last_error_message();
        report.add(line);
        continue;
      }
      for (const DType dtype : options.dtypes) {
        for (const Op op : options.ops) {
          for (const uint64_t bytes : options.sizes) {
            line.shape.dtype = dtype;
            line.shape.op = op;
            line.skipped.clear();
            line.wrong = 0;
            line.in_place = options.in_place && kind && !barrier;
            set_count(&line, bytes);
            measure(options, comm, &line);
            report.add(line);
            wrong += line.wrong;
            if (barrier) break;
          }
          if (!combines(kind)) break;
        }
        if (barrier) break;
      }
    }
    if (kind) wia_communicator_set_algorithm(comm, bench::name_of(kind).c_str(), "auto");
  }
  return wrong;
}

int join(const Options& options) {
  wia_communicator_t* world = nullptr;
  if (wia_init(&world) != WIA_SUCCESS) throw std::runtime_error(wia_last_error_message());
  const int ranks = wia_size(world);
  if (options.ranks > 0 && options.ranks != ranks)
    throw CLI::ValidationError("--ranks",
                               fmt::format("{}, but the launcher started {} ranks", options.ranks, ranks));
  if (options.root >= ranks)
    throw CLI::ValidationError("--root",
                               fmt::format("{} is not a rank from 0 to {}", options.root, ranks - 1));
  Report report(options, wia_rank(world) == 0);
  report.title(ranks);
  const size_t wrong = measure_all(options, world, report);
  report.finish(ranks);
  wia_finalize();
  return wrong == 0 ? 0 : 1;
}

// Alone: starts ranks of this very command.
int start(const Options& options, const std::vector<std::string>& arguments) {
  LaunchOptions launch_options;
  launch_options.ranks = options.ranks > 0 ? options.ranks : 2;
  if (options.root >= launch_options.ranks)
    throw CLI::ValidationError(
        "--root", fmt::format("{} is not a rank from 0 to {}", options.root, launch_options.ranks - 1));
  check_memory(options, launch_options.ranks);
  launch_options.bind_cores = launch_options.ranks <= static_cast<int>(allowed_cpus());
  launch_options.prefix = false;
  launch_options.name = "wia bench";
  std::vector<std::string> command = arguments;
  command.insert(command.begin(), "/proc/self/exe");
  return launch(launch_options, command);
}

int run(const OptionTexts& texts, const std::vector<std::string>& arguments) {
  const Options options = read(texts);
  for (const Kind kind : options.kinds)
    if (kind && options.algorithm != "auto" && options.algorithm != "all")
      if (auto found = find_algorithm(*kind, options.algorithm); !found)
        throw CLI::ValidationError("--algorithm", found.status().text());
  auto launch_found = detect_launch([](const char* name) { return environment(name); });
  if (!launch_found) throw std::runtime_error(launch_found.status().text());
  return launch_found->launcher == "none" ? start(options, arguments) : join(options);
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("bench", "Times collectives and checks their results");
  auto texts = std::make_shared<OptionTexts>();
  declare(*command, *texts);
  command->callback([=, &invocation] { invocation.exit_code = run(*texts, invocation.arguments); });
}

}  // namespace wia::cli
