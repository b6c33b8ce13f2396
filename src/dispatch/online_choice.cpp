#include "dispatch/online_choice.hpp"

#include <algorithm>
#include <limits>

namespace wia {
namespace {

constexpr float kNever = std::numeric_limits<float>::max();

}  // namespace

OnlineChoice::OnlineChoice(std::vector<Tactic> candidates) : candidates_(std::move(candidates)) {
  best_.fill(kNever);
}

OnlineChoice::Turn OnlineChoice::next() {
  Turn turn;
  if (call_ == epoch_) {
    epoch_ = std::min(epoch_ * 4, kLongestEpoch);
    call_ = 0;
    first_epoch_ = false;
    turn.tell = true;
    told_ = best_;
    best_.fill(kNever);
  }
  turn.change = !first_epoch_ && call_ == kPatience;
  turn.candidate = choice_;
  const auto others = static_cast<uint32_t>(candidates_.size() - 1);
  if (call_ < kTrials * others) turn.candidate = (choice_ + 1 + call_ % others) % candidates_.size();
  ++call_;
  return turn;
}

void OnlineChoice::took(size_t candidate, double microseconds) {
  best_[candidate] = std::min(best_[candidate], static_cast<float>(microseconds));
}

void OnlineChoice::decide() {
  const auto best = static_cast<size_t>(
      std::min_element(heard_.begin(), heard_.begin() + static_cast<std::ptrdiff_t>(candidates_.size())) -
      heard_.begin());
  // Without a time of the choice itself there is nothing to compare with.
  if (heard_[choice_] < kNever && heard_[best] < kClearly * heard_[choice_]) choice_ = best;
}

}  // namespace wia
