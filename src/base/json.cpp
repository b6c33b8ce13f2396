#include "base/json.hpp"

#include <algorithm>

namespace wia {
namespace {

constexpr size_t kLineWidth = 110;

void append(const Json& json, size_t indent, std::string& text) {
  const auto plain = [](const Json& value) {
    const auto deep = [](const Json& member) { return member.is_structured() && !member.empty(); };
    return std::all_of(value.begin(), value.end(), [&](const Json& member) {
      return !member.is_structured() || std::none_of(member.begin(), member.end(), deep);
    });
  };
  const std::string whole = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!json.is_structured() || json.empty() || (plain(json) && indent + whole.size() <= kLineWidth)) {
    text += whole;
    return;
  }
  const std::string line(indent + 2, ' ');
  text += json.is_object() ? "{" : "[";
  const char* separator = "\n";
  for (const auto& item : json.items()) {
    text += separator + line;
    if (json.is_object())
      text += Json(item.key()).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ";
    append(item.value(), indent + 2, text);
    separator = ",\n";
  }
  text += "\n" + std::string(indent, ' ') + (json.is_object() ? "}" : "]");
}

}  // namespace

std::string json_text(const Json& json) {
  std::string text;
  append(json, 0, text);
  return text + "\n";
}

}  // namespace wia
