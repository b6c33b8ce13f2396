// The three ways to choose a tactic for the calls of one group: rules, a cost model, what was measured and
// learned. See selector.hpp. All are immutable once made.
#pragma once
#include <memory>

#include "dispatch/cost_model.hpp"
#include "dispatch/selector.hpp"
#include "dispatch/tactic.hpp"
#include "dispatch/tuning_file.hpp"

namespace wia {

class RulesSelector : public Selector {
 public:
  RulesSelector(Collective collective, const Group& group)
      : collective_(collective), ranks_(group.ranks), nodes_(group.num_nodes()) {}
  std::string_view choose(const CallShape& call) const override;
  std::vector<Candidate> explain(const CallShape& call) const override;

 private:
  const Collective collective_;
  const int ranks_, nodes_;
};

// Of all algorithms that fit the group, the one that is predicted to be the fastest, but for those that are
// far off; with slices of another length where the pipeline formula wants them (to a factor of two) and they
// are predicted to gain a tenth.
class ModelSelector : public Selector {
 public:
  ModelSelector(Collective collective, const Group& group, const MachineCosts& costs);
  std::string_view choose(const CallShape& call) const override;
  std::vector<Candidate> explain(const CallShape& call) const override;

  struct Prediction {
    std::string_view tactic;
    double time_us;
  };
  std::vector<Prediction> predict(const CallShape& call) const;  // the fastest first

 private:
  struct Priced {
    std::string tactic;
    size_t slice_bytes;
    Price price;
  };
  std::vector<Priced> priced_;
  std::vector<Candidate> left_out_;  // with the reason
};

// What a tuning file says: for a call that was measured, or lies between two such whose fastest tactic is the
// same, that one; else what was learned.
class TunedSelector : public Selector {
 public:
  // `tuning` stays.
  explicit TunedSelector(const CollectiveTuning& tuning) : tuning_(tuning), learned_(tuning.learned) {}
  // Whether calls of such a group were measured, or of smaller and of larger ones.
  bool covers(const CallShape& call) const;
  std::string_view choose(const CallShape& call) const override;
  std::vector<Candidate> explain(const CallShape& call) const override;
  // What took at most half as long again as the fastest where it was measured next to the call; the fastest
  // first.
  std::vector<std::string_view> close_to_best(const CallShape& call) const;

 private:
  using Cell = CollectiveTuning::Cell;
  struct Neighbours {
    const Cell *below = nullptr, *above = nullptr;  // in bytes; the same where the call itself was measured
  };
  Neighbours neighbours_of(const CallShape& call) const;
  std::string_view measured_choice(const CallShape& call) const;  // empty: the cells do not agree

  const CollectiveTuning& tuning_;
  const LearnedSelector learned_;
};

}  // namespace wia
