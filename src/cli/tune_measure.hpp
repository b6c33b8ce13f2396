// wia tune by measuring: on ranks of this command, or as one of a launcher's. Used from the main thread.
#pragma once
#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "tune/train.hpp"

namespace wia::cli {

struct MeasureTexts {
  std::string collectives = "all", sizes, budget = "60s";
  int ranks = 0;
  bool fresh = false;
};

void declare(CLI::App& command, MeasureTexts& texts);
// The exit code. What is wrong with an option is thrown as CLI::ValidationError.
int measure(const MeasureTexts& texts, const std::string& output, const TrainOptions& train,
            const std::vector<std::string>& arguments);

}  // namespace wia::cli
