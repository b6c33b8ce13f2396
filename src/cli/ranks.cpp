#include "cli/ranks.hpp"

#include <fmt/core.h>

#include <set>

#include "base/parse.hpp"

namespace wia::cli {

std::optional<std::vector<int>> parse_ranks(std::string_view text, int most) {
  std::set<int> ranks;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const size_t dash = item.find('-');
    const auto first = parse_integer(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_integer(item.substr(dash + 1));
    if (!first || !last || *first < 1 || *last > most || *first > *last) return std::nullopt;
    for (int64_t r = *first; r <= *last; ++r) ranks.insert(static_cast<int>(r));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return std::vector<int>(ranks.begin(), ranks.end());
}

std::string format_ranks(const std::vector<int>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", i > 0 ? "," : "", ranks[i]);
    if (last > i) text += fmt::format("{}{}", last > i + 1 ? "-" : ",", ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace wia::cli
