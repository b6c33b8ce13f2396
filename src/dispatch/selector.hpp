// Who chooses for a call: rules, a cost model, or what was learned. A selector is made for one collective of
// one machine.
//
// Choosing is pure, thread safe and allocates nothing; explaining is for people.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/features.hpp"

namespace wia {

// A class that could be chosen: a library, an algorithm, an algorithm with its slices and NICs.
struct Candidate {
  std::string name;
  double score = 0;  // more is better; comparable within one explanation
  std::string reason;
};

class Selector {
 public:
  virtual ~Selector() = default;
  // The name lives as long as the selector.
  virtual std::string_view choose(const CallShape& call) const = 0;
  // All candidates, the chosen one first.
  virtual std::vector<Candidate> explain(const CallShape& call) const = 0;
};

}  // namespace wia
