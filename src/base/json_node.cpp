#include "base/json_node.hpp"

namespace wia {

void JsonNode::refuse(const std::string& why) const {
  throw json_detail::Refused{fmt::format("{}{}{}", place_, place_.empty() ? "" : ": ", why)};
}

void JsonNode::refuse_value(const std::string& wanted) const {
  std::string text = json_.dump();
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  refuse(fmt::format("is {}, wanted is {}", text, wanted));
}

JsonNode JsonNode::member(const char* name) {
  const auto found = optional_member(name);
  if (!found) refuse(fmt::format("\"{}\" is missing", name));
  return *found;
}

std::optional<JsonNode> JsonNode::optional_member(const char* name) {
  if (!json_.is_object()) refuse_value("an object");
  known_.emplace_back(name);
  const auto found = json_.find(name);
  if (found == json_.end() || found->is_null()) return std::nullopt;
  return JsonNode(*found, place_.empty() ? name : fmt::format("{}.{}", place_, name));
}

void JsonNode::no_others() const {
  for (const auto& item : json_.items())
    if (std::find(known_.begin(), known_.end(), item.key()) == known_.end())
      refuse(fmt::format("\"{}\" is no member of this", item.key()));
}

std::string JsonNode::string() const {
  if (!json_.is_string()) refuse_value("a text");
  return json_.get<std::string>();
}

bool JsonNode::boolean() const {
  if (!json_.is_boolean()) refuse_value("true or false");
  return json_.get<bool>();
}

int64_t JsonNode::integer(int64_t least, int64_t most) const {
  const bool held =
      json_.is_number_integer() && (!json_.is_number_unsigned() || json_.get<uint64_t>() <= INT64_MAX);
  const int64_t value = held ? json_.get<int64_t>() : 0;
  if (most < least) refuse("there is nothing that it could name");
  if (!held || value < least || value > most)
    refuse_value(fmt::format("a whole number from {} to {}", least, most));
  return value;
}

double JsonNode::number() const {
  if (!json_.is_number() || !std::isfinite(json_.get<double>()) || json_.get<double>() < 0)
    refuse_value("a number, 0 or more");
  return json_.get<double>();
}

double JsonNode::real() const {
  if (!json_.is_number() || !std::isfinite(json_.get<double>())) refuse_value("a number");
  return json_.get<double>();
}

std::map<std::string, std::string> JsonNode::texts() const { return members(as_string); }

Status json_detail::no_json(std::string_view text, const std::string& name, size_t byte) {
  const std::string_view before = text.substr(0, byte > 0 ? byte - 1 : 0);
  const size_t line_start = before.rfind('\n');
  const size_t column = before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
  return Status::error(Code::invalid_argument, "{}: line {}, column {}: {}", name,
                       std::count(before.begin(), before.end(), '\n') + 1, column,
                       text.empty() ? "is empty" : "is no JSON from here on");
}

}  // namespace wia
