// Lists of numbers of ranks, as people write them: "1-33,48,64".
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wia::cli {

constexpr int kMostRanks = 4096;

// Ascending, each once. Nothing: not of this form, empty, or beyond 1..most.
std::optional<std::vector<int>> parse_ranks(std::string_view text, int most = kMostRanks);
// The other way round, for an ascending list.
std::string format_ranks(const std::vector<int>& ranks);

}  // namespace wia::cli
