#include "base/parse.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace wia {
namespace {

// A plain decimal number, not negative: "12", "1.5"; no exponent, no "inf".
std::optional<double> parse_decimal(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> parse_size(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string unit = lower_case(text.substr(digits));
  const auto number = parse_decimal(text.substr(0, digits));
  if (!number) return std::nullopt;

  static constexpr std::string_view kUnits = "kmgt";
  double factor = 1;
  if (!unit.empty() && unit != "b") {
    const size_t power = kUnits.find(unit.front());
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib"))
      return std::nullopt;
    factor = static_cast<double>(1ull << (10 * (power + 1)));
  }
  const double bytes = *number * factor;
  if (bytes != std::floor(bytes) || bytes >= 9.2e18) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

std::optional<int64_t> parse_seconds(std::string_view text) {
  const auto seconds = parse_decimal(text);
  if (!seconds || *seconds >= 9e15) return std::nullopt;
  return static_cast<int64_t>(std::ceil(*seconds * 1000));
}

}  // namespace wia
