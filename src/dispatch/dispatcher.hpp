// Chooses the tactics of one communicator's calls.
//
// Every rank chooses for itself from what is the same on all of them: the group, the tuning file of rank 0,
// and the arguments that a collective's ranks share. Used by one thread at a time.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <tuple>

#include "dispatch/online_choice.hpp"
#include "dispatch/selectors.hpp"

namespace wia {

// WIA_SELECTOR. automatic: what was tuned where the file covers the group, else the rules.
enum class Selection { automatic, rules, model, svm };
std::optional<Selection> parse_selection(std::string_view name);

// What a choice may depend on, besides the group.
struct CallKind {
  Collective collective = Collective::all_reduce;
  size_t bytes = 0;  // as docs/architecture.md counts them
  size_t dtype_bytes = 1;
  bool even = true;            // blocks of equal length
  bool deterministic = false;  // combined in the order of ranks
  auto operator<=>(const CallKind&) const = default;
};

class Dispatcher {
 public:
  // `tuning` may be null. Selection::model without costs in it: with assumed ones (default_costs).
  Dispatcher(Group group, std::shared_ptr<const Tuning> tuning, Selection selection);

  Tactic choose(const CallKind& kind);
  // How the choice is corrected by real calls; null: it is not, since it comes from no tuning file, or there
  // is nothing else that comes near. Lives as long as the dispatcher.
  OnlineChoice* online(const CallKind& kind);

  // A way to choose: what it would take, and whether it is the one that counts.
  struct Opinion {
    const char* selector;               // "rules", "model", "svm"
    std::vector<Candidate> candidates;  // the chosen one first; empty: it has no say, `why` says so
    std::string why;
    bool counts = false;
  };
  std::vector<Opinion> explain(const CallKind& kind);

  CallShape call_shape(const CallKind& kind) const;
  const Group& group() const { return group_; }

 private:
  struct Selectors {
    std::unique_ptr<RulesSelector> rules;
    std::unique_ptr<ModelSelector> model;  // made when it is first asked
    std::unique_ptr<TunedSelector> tuned;  // null: not tuned, or not for this group
  };
  Selectors& selectors_of(Collective collective);
  const Selector& in_charge(const CallKind& kind);
  Tactic by_rules(const CallKind& kind) const;
  const ModelSelector& model_of(Collective collective);

  const Group group_;
  const std::shared_ptr<const Tuning> tuning_;
  const Selection selection_;
  std::array<Selectors, kNumCollectives> selectors_;
  std::map<CallKind, Tactic> known_;
  std::map<CallKind, std::unique_ptr<OnlineChoice>> online_;  // null: nothing to correct
};

// Refuses classes that are no tactics of this library: a table of other libraries' timings chooses nothing
// here. Code::invalid_argument, naming `name`, the collective and the class.
Status check_tactics(const Tuning& tuning, const std::string& name);

}  // namespace wia
