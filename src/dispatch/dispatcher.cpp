#include "dispatch/dispatcher.hpp"

#include <algorithm>

#include "base/config.hpp"
#include "dispatch/rules.hpp"

namespace wia {
namespace {

constexpr size_t kMostKnown = 4096;  // calls that are remembered

}  // namespace

std::optional<Selection> parse_selection(std::string_view name) {
  const auto found = std::find(kSelectors.begin(), kSelectors.end(), name);
  if (found == kSelectors.end()) return std::nullopt;
  return static_cast<Selection>(found - kSelectors.begin());
}

Status check_tactics(const Tuning& tuning, const std::string& name) {
  for (const CollectiveTuning& one : tuning.collectives)
    for (const std::string& tactic : one.learned.classes)
      if (const auto parsed = parse_tactic(one.collective, tactic); !parsed)
        return Status::error(Code::invalid_argument,
                             "{}: class {} of {} is nothing that this library can do: {}", name, tactic,
                             name_of(one.collective), parsed.status().text());
  return {};
}

Dispatcher::Dispatcher(Group group, std::shared_ptr<const Tuning> tuning, Selection selection)
    : group_(std::move(group)), tuning_(std::move(tuning)), selection_(selection) {}

CallShape Dispatcher::call_shape(const CallKind& kind) const {
  CallShape call;
  call.bytes = static_cast<double>(kind.bytes);
  call.ranks = group_.ranks;
  call.nodes = group_.num_nodes();
  call.ranks_per_node = call.ranks / call.nodes;
  call.dtype_bytes = static_cast<double>(kind.dtype_bytes);
  if (tuning_ && tuning_->costs && tuning_->costs->network) {
    call.alpha_us = tuning_->costs->network->alpha_us;
    call.bandwidth_GBps = tuning_->costs->network->bandwidth_GBps;
  }
  return call;
}

Dispatcher::Selectors& Dispatcher::selectors_of(Collective collective) {
  Selectors& selectors = selectors_[static_cast<size_t>(collective)];
  if (selectors.rules) return selectors;
  selectors.rules = std::make_unique<RulesSelector>(collective, group_);
  if (const CollectiveTuning* tuning = tuning_ ? tuning_->of(collective) : nullptr) {
    auto tuned = std::make_unique<TunedSelector>(*tuning);
    if (tuned->covers(call_shape({collective}))) selectors.tuned = std::move(tuned);
  }
  return selectors;
}

const ModelSelector& Dispatcher::model_of(Collective collective) {
  Selectors& selectors = selectors_of(collective);
  if (!selectors.model)
    selectors.model = std::make_unique<ModelSelector>(
        collective, group_, tuning_ && tuning_->costs ? *tuning_->costs : default_costs());
  return *selectors.model;
}

const Selector& Dispatcher::in_charge(const CallKind& kind) {
  Selectors& selectors = selectors_of(kind.collective);
  if (selection_ == Selection::model) return model_of(kind.collective);
  if (selection_ != Selection::rules && selectors.tuned) return *selectors.tuned;
  return *selectors.rules;
}

Tactic Dispatcher::by_rules(const CallKind& kind) const {
  const Choice choice = choose_by_rules(kind.collective, kind.bytes, group_.ranks, group_.num_nodes(),
                                        kind.even, kind.deterministic);
  return parse_tactic(kind.collective, choice.algorithm).value();
}

Tactic Dispatcher::choose(const CallKind& kind) {
  // The rules know what these need.
  if (!kind.even || (kind.deterministic && reduces(kind.collective)) || group_.ranks == 1)
    return by_rules(kind);
  if (const auto known = known_.find(kind); known != known_.end()) return known->second;
  auto tactic = parse_tactic(kind.collective, in_charge(kind).choose(call_shape(kind)));
  // What was learned for other groups may not fit this one. All ranks find the same.
  if (!tactic || !tactic->algorithm->build(group_.shape(kind.collective, 0))) tactic = by_rules(kind);
  if (known_.size() >= kMostKnown) known_.clear();
  return known_[kind] = tactic.value();
}

OnlineChoice* Dispatcher::online(const CallKind& kind) {
  if (!tuning_ || !kind.even || kind.deterministic) return nullptr;
  if (const auto known = online_.find(kind); known != online_.end()) return known->second.get();
  if (online_.size() >= kMostKnown) return nullptr;
  std::unique_ptr<OnlineChoice>& made = online_[kind];
  const TunedSelector* tuned = selectors_of(kind.collective).tuned.get();
  if (!tuned || &in_charge(kind) != tuned) return nullptr;
  std::vector<Tactic> candidates = {choose(kind)};
  for (const std::string_view name : tuned->close_to_best(call_shape(kind))) {
    auto tactic = parse_tactic(kind.collective, name);
    if (candidates.size() < OnlineChoice::kMostCandidates && tactic && !(*tactic == candidates[0]) &&
        tactic->algorithm->build(group_.shape(kind.collective, 0)))
      candidates.push_back(*tactic);
  }
  if (candidates.size() > 1) made = std::make_unique<OnlineChoice>(std::move(candidates));
  return made.get();
}

std::vector<Dispatcher::Opinion> Dispatcher::explain(const CallKind& kind) {
  const CallShape call = call_shape(kind);
  Selectors& selectors = selectors_of(kind.collective);
  const Selector* counts = &in_charge(kind);
  std::vector<Opinion> opinions;
  opinions.push_back({"rules", selectors.rules->explain(call), "", counts == selectors.rules.get()});
  const ModelSelector& model = model_of(kind.collective);
  opinions.push_back({"model", model.explain(call),
                      tuning_ && tuning_->costs ? "with the costs of the tuning file" : "with assumed costs",
                      counts == &model});
  Opinion tuned{
      "svm", {}, tuning_ ? "the tuning file does not cover this group" : "there is no tuning file", false};
  if (selectors.tuned) tuned = {"svm", selectors.tuned->explain(call), "", counts == selectors.tuned.get()};
  opinions.push_back(std::move(tuned));
  return opinions;
}

}  // namespace wia
