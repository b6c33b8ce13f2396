// Corrects the choice for one kind of call by the times of real calls.
//
// Calls are counted. An epoch begins with a few trials of the other candidates; the choice serves the rest.
// Before the next epoch begins the ranks tell one another the best time of each candidate (its maximum over
// the ranks counts), and kPatience calls later the choice changes if another one is clearly faster. All ranks
// count the same calls, so they try, tell and change at the same ones, without a word more. Trials are
// bounded: kTrials of each other candidate, of which there are two at most, in epochs that grow from 64 calls
// to 4096. Used by one thread at a time.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/tactic.hpp"

namespace wia {

class OnlineChoice {
 public:
  static constexpr size_t kMostCandidates = 3;
  static constexpr uint32_t kTrials = 3, kPatience = 32, kFirstEpoch = 64, kLongestEpoch = 4096;
  static constexpr double kClearly = 0.95;
  using Times = std::array<float, kMostCandidates>;

  // At least two and at most kMostCandidates; the first is the choice.
  explicit OnlineChoice(std::vector<Tactic> candidates);

  // What the next call does.
  struct Turn {
    size_t candidate = 0;
    bool tell = false;    // before it: the ranks combine told() into heard(), the maximum of each, meanwhile
    bool change = false;  // before it: decide(), once that is done
  };
  Turn next();
  const Tactic& tactic(size_t candidate) const { return candidates_[candidate]; }
  size_t choice() const { return choice_; }

  void took(size_t candidate, double microseconds);
  Times& told() { return told_; }
  Times& heard() { return heard_; }
  void decide();

 private:
  std::vector<Tactic> candidates_;
  size_t choice_ = 0;
  uint32_t call_ = 0, epoch_ = kFirstEpoch;  // calls of this epoch; its length
  bool first_epoch_ = true;
  Times best_{}, told_{}, heard_{};  // by candidate, us
};

}  // namespace wia
