// The environment as detect_launch reads it: texts and bounded numbers, with errors that name variables and
// values.
//
// A view: the environment it was made from must outlive it. A variable that is empty counts as not set.
#pragma once
#include <string>

#include "bootstrap/launch.hpp"

namespace wia {

class LaunchVariables {
 public:
  explicit LaunchVariables(const Environment& environment) : environment_(environment) {}

  std::optional<std::string> text(const char* name) const;
  bool has(const char* name) const { return text(name).has_value(); }
  std::string text_or(const char* name, const std::string& other) const { return text(name).value_or(other); }
  // The first of the two that is set.
  const char* either(const char* name, const char* other) const { return has(name) ? name : other; }

  // Must be set.
  Result<int> number(const char* name, int least, int most) const;
  // A number, or `other` where the variable is missing or is none.
  int number_or(const char* name, int other) const;

  // Both must be set and agree: 0 <= rank < size. Fills launch->rank and launch->size.
  Status read_ranks(const char* rank_name, const char* size_name, Launch* launch) const;
  // As text for errors: NAME=value.
  std::string show(const char* name) const;

 private:
  const Environment& environment_;
};

}  // namespace wia
