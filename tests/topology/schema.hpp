// Holds JSON to docs/formats/topology.schema.json: the part of JSON Schema that it uses. Keywords that are
// not known here are an error, so that none is passed over.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "base/json.hpp"

namespace wia {

class Schema {
 public:
  Schema() { std::ifstream(WIA_SOURCE_DIR "/docs/formats/topology.schema.json") >> root_; }
  // Empty, or the first thing that is wrong and where.
  std::string violation(const Json& value) const { return check(value, root_, ""); }

 private:
  static bool is_type(const Json& value, const std::string& type) {
    return type == "object"    ? value.is_object()
           : type == "array"   ? value.is_array()
           : type == "string"  ? value.is_string()
           : type == "boolean" ? value.is_boolean()
           : type == "null"    ? value.is_null()
           : type == "integer" ? value.is_number_integer()
                               : type == "number" && value.is_number();
  }
  static bool is_one_of(const Json& value, const Json& types) {
    return types.is_string() ? is_type(value, types)
                             : std::any_of(types.begin(), types.end(), [&](const Json& type) {
                                 return is_type(value, type.get<std::string>());
                               });
  }

  std::string check(const Json& value, const Json& schema, const std::string& place) const {
    if (schema.is_boolean()) return schema.get<bool>() ? "" : place + ": must not be there";
    for (const auto& [keyword, rule] : schema.items())
      if (std::string wrong = check_keyword(value, schema, keyword, rule, place); !wrong.empty())
        return wrong;
    return "";
  }

  std::string check_keyword(const Json& value, const Json& schema, const std::string& keyword,
                            const Json& rule, const std::string& place) const {
    static const std::set<std::string> kNoRules = {"$schema", "title", "description",
                                                   "$defs",   "then",  "else"};
    const auto wrong_if = [&](bool wrong) { return wrong ? place + ": " + keyword + " " + rule.dump() : ""; };
    if (kNoRules.contains(keyword)) return "";
    if (keyword == "$ref")
      return check(value, root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), place);
    if (keyword == "const") return wrong_if(value != rule);
    if (keyword == "enum") return wrong_if(std::find(rule.begin(), rule.end(), value) == rule.end());
    if (keyword == "type") return wrong_if(!is_one_of(value, rule));
    if (keyword == "minimum") return wrong_if(value.is_number() && value < rule);
    if (keyword == "maximum") return wrong_if(value.is_number() && value > rule);
    if (keyword == "required")
      return wrong_if(value.is_object() && !std::all_of(rule.begin(), rule.end(), [&](const Json& name) {
                        return value.contains(name.get<std::string>());
                      }));
    if (keyword == "if") {
      const char* then = check(value, rule, place).empty() ? "then" : "else";
      return schema.contains(then) ? check(value, schema[then], place) : "";
    }
    if (keyword == "items") return check_items(value, rule, place);
    if (keyword == "properties") return check_properties(value, rule, place);
    if (keyword == "additionalProperties") {
      for (const auto& [name, member] : value.items())
        if (!schema["properties"].contains(name)) return place + "/" + name + ": additionalProperties";
      return "";
    }
    return "the schema has a keyword that this test does not know: " + keyword;
  }

  std::string check_items(const Json& value, const Json& rule, const std::string& place) const {
    for (size_t i = 0; value.is_array() && i < value.size(); ++i)
      if (std::string wrong = check(value[i], rule, place + "/" + std::to_string(i)); !wrong.empty())
        return wrong;
    return "";
  }
  std::string check_properties(const Json& value, const Json& rule, const std::string& place) const {
    for (const auto& [name, schema] : rule.items())
      if (value.is_object() && value.contains(name))
        if (std::string wrong = check(value[name], schema, place + "/" + name); !wrong.empty()) return wrong;
    return "";
  }

  Json root_;
};

}  // namespace wia
