// The options of `wia bench`: as text, and read. What is wrong with one is thrown as CLI::ValidationError
// that names it and its value.
#pragma once
#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reduce/dtype.hpp"
#include "schedule/collective.hpp"

namespace wia::cli::bench {

// A collective, or (none) sendrecv: each rank sends to the next one and receives from the one before.
using Kind = std::optional<Collective>;
std::string name_of(Kind kind);

struct OptionTexts {
  std::string collectives, sizes, min, max, step, dtypes = "f32", ops = "sum", root = "0", algorithm = "auto",
                                                  iterations, memory = "ordinary", json;
  int ranks = 0;
  bool in_place = false, check = false;
};

struct Options {
  int ranks = 0;  // 0: not said
  std::vector<Kind> kinds;
  std::vector<uint64_t> sizes;  // bytes, ascending as given
  const char* size_flag = "--sizes";
  std::vector<DType> dtypes;
  std::vector<Op> ops;
  int root = 0;
  std::string algorithm;
  bool in_place = false;
  int iterations = 0;       // 0: as many as fit the time
  bool wia_memory = false;  // buffers from wia_alloc
  bool check = false;
  std::string json;
};

constexpr int kMaxIterations = 1'000'000;

// Lists as people write them: names with "all", sizes like "8,64K,1.5G" (refused by this option's name).
std::vector<Kind> read_kinds(const std::string& text);
std::vector<uint64_t> read_sizes(const char* option, const std::string& text);

void declare(CLI::App& command, OptionTexts& texts);
Options read(const OptionTexts& texts);

}  // namespace wia::cli::bench
