#include "bootstrap/launch_variables.hpp"

#include <limits>

#include "base/parse.hpp"

namespace wia {

std::optional<std::string> LaunchVariables::text(const char* name) const {
  auto value = environment_(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

std::string LaunchVariables::show(const char* name) const {
  return fmt::format("{}={}", name, text_or(name, "(not set)"));
}

Result<int> LaunchVariables::number(const char* name, int least, int most) const {
  const auto value = text(name);
  if (!value) return Status::error(Code::invalid_argument, "{} is not set", name);
  const auto parsed = parse_integer(*value);
  if (!parsed || *parsed < least || *parsed > most)
    return Status::error(Code::invalid_argument, "{}=\"{}\" is not understood; allowed: {} to {}", name,
                         *value, least, most);
  return static_cast<int>(*parsed);
}

int LaunchVariables::number_or(const char* name, int other) const {
  const Result<int> value = number(name, 0, std::numeric_limits<int>::max());
  return value.ok() ? value.value() : other;
}

Status LaunchVariables::read_ranks(const char* rank_name, const char* size_name, Launch* launch) const {
  constexpr int kMostRanks = 10'000'000;
  if (has(rank_name) != has(size_name))
    return Status::error(Code::invalid_argument, "{} without {}: set both or none",
                         show(has(rank_name) ? rank_name : size_name),
                         has(rank_name) ? size_name : rank_name);
  Result<int> size = number(size_name, 1, kMostRanks);
  if (!size.ok()) return size.take_status();
  Result<int> rank = number(rank_name, 0, kMostRanks);
  if (!rank.ok()) return rank.take_status();
  if (*rank >= *size)
    return Status::error(Code::invalid_argument, "{} is too large for {}: ranks begin at 0", show(rank_name),
                         show(size_name));
  launch->rank = *rank;
  launch->size = *size;
  return {};
}

}  // namespace wia
