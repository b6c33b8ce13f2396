#include "cli/bench_options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "base/parse.hpp"

namespace wia::cli::bench {
namespace {

constexpr size_t kMaxSizes = 1000;
constexpr const char* kDefaultSizes = "8,1K,16K,256K,1M,16M";

[[noreturn]] void refuse(const char* option, const std::string& text) {
  throw CLI::ValidationError(option, text);
}

std::vector<std::string> split(const char* option, const std::string& list) {
  std::vector<std::string> items;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    if (items.back().empty()) refuse(option, fmt::format("\"{}\" has an empty item", list));
    begin = end + 1;
  }
  return items;
}

uint64_t read_size(const char* option, const std::string& text) {
  const auto bytes = parse_size(text);
  if (!bytes) refuse(option, fmt::format("\"{}\" is no size; sizes are like 8, 64K, 1.5G", text));
  return *bytes;
}

std::vector<DType> read_dtypes(const std::string& text) {
  std::vector<DType> dtypes;
  for (const std::string& item : split("--dtype", text)) {
    std::string names;
    for (int d = 0; d < kNumDTypes; ++d) {
      if (item == "all") dtypes.push_back(static_cast<DType>(d));
      names += fmt::format("{}, ", wia::name_of(static_cast<DType>(d)));
    }
    const auto dtype = parse_dtype(lower_case(item));
    if (dtype) dtypes.push_back(*dtype);
    if (!dtype && item != "all")
      refuse("--dtype",
             fmt::format("\"{}\" is unknown; there are {}all; f32, bf16, i64 and the like for short", item,
                         names));
  }
  return dtypes;
}

std::vector<Op> read_ops(const std::string& text) {
  std::vector<Op> ops;
  for (const std::string& item : split("--op", text)) {
    std::string names;
    for (int o = 0; o < kNumOps; ++o) {
      if (item == "all") ops.push_back(static_cast<Op>(o));
      names += fmt::format("{}, ", wia::name_of(static_cast<Op>(o)));
    }
    const auto op = parse_op(lower_case(item));
    const bool known = op && static_cast<int>(*op) < kNumOps;
    if (known) ops.push_back(*op);
    if (!known && item != "all")
      refuse("--op", fmt::format("\"{}\" is unknown; there are {}all", item, names));
  }
  return ops;
}

// min, then times a factor ("x4") or plus a size ("1M") while at most max.
std::vector<uint64_t> read_range(const OptionTexts& texts) {
  if (texts.max.empty()) refuse("--max", "is missing beside --min and --step");
  const uint64_t least = read_size("--min", texts.min.empty() ? "8" : texts.min);
  const uint64_t most = read_size("--max", texts.max);
  if (least > most)
    refuse("--min", fmt::format("{} is more than --max {}", texts.min.empty() ? "8" : texts.min, texts.max));
  const std::string step = lower_case(texts.step.empty() ? "x2" : texts.step);
  std::vector<uint64_t> sizes;
  const auto add = [&](uint64_t size) {
    sizes.push_back(size);
    if (sizes.size() > kMaxSizes)
      refuse("--step", fmt::format("{} makes more than {} sizes", texts.step, kMaxSizes));
  };
  if (step.front() == 'x') {
    const auto factor = parse_integer(step.substr(1));
    if (!factor || *factor < 2)
      refuse("--step", fmt::format("\"{}\" is neither a factor like x2 nor a size", texts.step));
    if (least == 0) refuse("--min", "0 times a factor stays 0; set --step to a size");
    for (uint64_t size = least;; size *= static_cast<uint64_t>(*factor)) {
      add(size);
      if (size > most / static_cast<uint64_t>(*factor)) return sizes;
    }
  }
  const auto bytes = parse_size(step);
  if (!bytes || *bytes == 0)
    refuse("--step", fmt::format("\"{}\" is neither a factor like x2 nor a size above 0", texts.step));
  for (uint64_t size = least;; size += *bytes) {
    add(size);
    if (*bytes > most - size) return sizes;
  }
}

void choose_sizes(const OptionTexts& texts, Options* options) {
  if (!texts.min.empty() || !texts.max.empty() || !texts.step.empty()) {
    if (!texts.sizes.empty()) refuse("--sizes", "excludes --min, --max and --step");
    options->sizes = read_range(texts);
    options->size_flag = "--max";
    return;
  }
  options->sizes = read_sizes("--sizes", texts.sizes.empty() ? kDefaultSizes : texts.sizes);
}

int read_number(const char* option, const std::string& text, int64_t least, int64_t most) {
  const auto value = parse_integer(text);
  if (!value || *value < least || *value > most)
    refuse(option, fmt::format("\"{}\" is no number from {} to {}", text, least, most));
  return static_cast<int>(*value);
}

}  // namespace

std::vector<Kind> read_kinds(const std::string& text) {
  std::vector<Kind> kinds;
  for (const std::string& item : split("COLLECTIVE", text)) {
    const auto collective = parse_collective(item);
    if (collective) {
      kinds.emplace_back(collective);
    } else if (item == "sendrecv" || item == "send_recv") {
      kinds.emplace_back(std::nullopt);
    } else if (item == "all") {
      for (int c = 0; c < static_cast<int>(Collective::barrier); ++c)
        kinds.emplace_back(static_cast<Collective>(c));
      kinds.emplace_back(std::nullopt);
      kinds.emplace_back(Collective::barrier);
    } else {
      std::string names;
      for (int c = 0; c < kNumCollectives; ++c)
        names += fmt::format("{}, ", wia::name_of(static_cast<Collective>(c)));
      refuse("COLLECTIVE", fmt::format("\"{}\" is unknown; there are {}sendrecv and all", item, names));
    }
  }
  return kinds;
}

std::vector<uint64_t> read_sizes(const char* option, const std::string& text) {
  std::vector<uint64_t> sizes;
  for (const std::string& item : split(option, text)) sizes.push_back(read_size(option, item));
  return sizes;
}

std::string name_of(Kind kind) { return kind ? std::string(wia::name_of(*kind)) : "sendrecv"; }

void declare(CLI::App& command, OptionTexts& texts) {
  command
      .add_option("COLLECTIVE", texts.collectives, "all_reduce, ..., sendrecv, barrier; several: a,b; or all")
      ->required();
  command.add_option("-n,--ranks", texts.ranks, "Number of ranks to start here (2)")
      ->check(CLI::Range(1, 4096));
  command.add_option("--sizes", texts.sizes, fmt::format("Bytes: {}", kDefaultSizes));
  command.add_option("--min", texts.min, "Sizes from this one (8) to --max, instead of --sizes");
  command.add_option("--max", texts.max, "The largest size");
  command.add_option("--step", texts.step,
                     "To the next size: a factor (x2, the default) or so many bytes (1M)");
  command.add_option("--dtype", texts.dtypes, "f32 (default), bf16, i64, ...; several: i32,f32; or all");
  command.add_option("--op", texts.ops, "sum (default), prod, min, max, avg, ...; several; or all");
  command.add_option("--root", texts.root, "Root of broadcast, reduce, gather, scatter (0)");
  command.add_option("--algorithm", texts.algorithm, "auto (default), a name, or all");
  command.add_flag("--in-place", texts.in_place, "Results replace inputs");
  command.add_option("--iterations", texts.iterations, "Timed calls of each line; else as many as fit 0.3 s");
  command.add_option("--memory", texts.memory, "Buffers: ordinary (default), or wia: from wia_alloc");
  command.add_flag("--check", texts.check,
                   "Compares every element, on every rank; exit code 1 if any is wrong");
  command.add_option("--json", texts.json,
                     "Also as JSON to this file; -: to stdout, the table goes to stderr");
  command.footer(
      "Alone it starts the ranks itself; under wia run, mpirun, srun or torchrun each process is a rank.\n"
      "Sizes are the buffer of a rank (all_reduce, broadcast, reduce), the whole output (all_gather, gather) "
      "or\n"
      "the whole input (reduce_scatter, scatter, all_to_all). algbw = size / time; busbw as nccl-tests.");
}

Options read(const OptionTexts& texts) {
  Options options;
  options.ranks = texts.ranks;
  options.kinds = read_kinds(lower_case(texts.collectives));
  choose_sizes(texts, &options);
  options.dtypes = read_dtypes(texts.dtypes);
  options.ops = read_ops(texts.ops);
  options.root = read_number("--root", texts.root, 0, 4095);
  options.algorithm = texts.algorithm;
  options.in_place = texts.in_place;
  if (!texts.iterations.empty())
    options.iterations = read_number("--iterations", texts.iterations, 1, kMaxIterations);
  if (texts.memory != "ordinary" && texts.memory != "wia")
    refuse("--memory", fmt::format("\"{}\" is neither ordinary nor wia", texts.memory));
  options.wia_memory = texts.memory == "wia";
  options.check = texts.check;
  options.json = texts.json;
  return options;
}

}  // namespace wia::cli::bench
