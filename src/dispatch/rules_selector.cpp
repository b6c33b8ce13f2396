#include "dispatch/rules.hpp"
#include "dispatch/selectors.hpp"

namespace wia {

std::string_view RulesSelector::choose(const CallShape& call) const {
  return choose_by_rules(collective_, static_cast<size_t>(call.bytes), ranks_, nodes_, true, false).algorithm;
}

std::vector<Candidate> RulesSelector::explain(const CallShape& call) const {
  const Choice choice =
      choose_by_rules(collective_, static_cast<size_t>(call.bytes), ranks_, nodes_, true, false);
  return {{choice.algorithm, 0, choice.reason}};
}

}  // namespace wia
