// Reads a JSON file member by member and refuses whatever is not as it should be, with the place.
//
// Inside read_json() a refusal is thrown; to callers it is a Status. Thread safe; the JSON must outlive its
// nodes.
#pragma once
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/status.hpp"

namespace wia {

// A value of the file and where it stands ("links[3].type").
class JsonNode {
 public:
  static constexpr int64_t kMostItems = 1'000'000;  // of anything that is counted

  JsonNode(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}

  [[noreturn]] void refuse(const std::string& why) const;
  // "is 3, wanted is `wanted`"
  [[noreturn]] void refuse_value(const std::string& wanted) const;

  JsonNode member(const char* name);
  // Nothing: not there, or null.
  std::optional<JsonNode> optional_member(const char* name);
  // Refuses members that were not asked for so far: they are misspelled.
  void no_others() const;
  template <class Read>
  auto array(Read read) const {
    if (!json_.is_array()) refuse_value("an array");
    std::vector<decltype(read(*this))> items;
    for (size_t i = 0; i < json_.size(); ++i)
      items.push_back(read(JsonNode(json_[i], fmt::format("{}[{}]", place_, i))));
    return items;
  }

  std::string string() const;
  bool boolean() const;
  int64_t integer(int64_t least, int64_t most) const;
  int count() const { return static_cast<int>(integer(0, kMostItems)); }
  double number() const;  // finite, 0 or more
  double real() const;    // finite
  bool is_null() const { return json_.is_null(); }
  template <class Read>
  auto members(Read read) const {  // of an object, whatever their names
    if (!json_.is_object()) refuse_value("an object");
    std::map<std::string, decltype(read(*this))> items;
    for (const auto& item : json_.items())
      items.emplace(item.key(), read(JsonNode(item.value(), fmt::format("{}.{}", place_, item.key()))));
    return items;
  }
  std::map<std::string, std::string> texts() const;  // an object whose members are texts

 private:
  const Json& json_;
  std::string place_;
  std::vector<std::string> known_;
};

inline int as_count(const JsonNode& node) { return node.count(); }
inline std::string as_string(const JsonNode& node) { return node.string(); }
// For members that may be missing.
template <class Read>
auto maybe(std::optional<JsonNode> node, Read read) -> std::optional<decltype(read(*node))> {
  return node ? std::optional(read(*node)) : std::nullopt;
}
inline std::string text_or_empty(std::optional<JsonNode> node) {
  return maybe(std::move(node), as_string).value_or("");
}

namespace json_detail {
struct Refused {  // thrown by JsonNode, caught by read_json
  std::string text;
};
Status no_json(std::string_view text, const std::string& name, size_t byte);
}  // namespace json_detail

// What `read` makes of the text; or why not, with `name` for the text: "name: line 3, column 7: is no JSON
// from here on" or "name: links[3].type: is 3, wanted is a text" (Code::invalid_argument).
template <class Read>
auto read_json(std::string_view text, const std::string& name, Read read)
    -> Result<decltype(read(std::declval<JsonNode>()))> {
  try {
    const Json json = Json::parse(text);
    return read(JsonNode(json, ""));
  } catch (const json_detail::Refused& refused) {
    return Status::error(Code::invalid_argument, "{}: {}", name, refused.text);
  } catch (const Json::parse_error& error) {
    return json_detail::no_json(text, name, error.byte);
  } catch (const Json::exception&) {  // a number that no type holds
    return Status::error(Code::invalid_argument, "{}: holds a number that is out of range", name);
  }
}

}  // namespace wia
