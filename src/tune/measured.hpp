// Cells that were measured on this machine, round by round, and what follows from them.
//
// In a round the classes of a cell are timed one after the other, so that what disturbs the machine meets all
// of them; a class's rounds tell how far its times spread. What is used where nobody chooses, the untuned
// class, is given up only for one that is faster beyond that spread: noise makes nothing slower.
// Pure; thread safe.
#pragma once
#include <string>
#include <vector>

#include "dispatch/tuning_file.hpp"
#include "tune/train.hpp"

namespace wia {

struct MeasuredClass {
  std::string name;
  std::vector<double> rounds_us = {};  // what a call took, round by round
  double predicted_us = kUnknown;
  bool refused = false;  // cannot be used for this call

  double median_us() const;  // NaN: not measured
};

struct MeasuredCell {
  Collective collective = Collective::all_reduce;
  CallShape call;
  std::vector<MeasuredClass> classes;  // the untuned one first; plain algorithms before those with slices

  const MeasuredClass& untuned() const { return classes.front(); }
  const MeasuredClass* find(const std::string& name) const;  // null: there is none
  bool measured() const;
  double best_us() const;  // the least median; NaN: not measured
  // The untuned class; or of those that are clearly faster (where it was not measured: of all) the first that
  // is as good as the best of them, by 2 % at the median.
  const MeasuredClass& choice() const;
};

// So many rounds of both make a difference believable.
constexpr size_t kRoundsToDecide = 3;
// By 3 % at the median, and three quarters of its rounds took less than three quarters of the other's.
bool clearly_faster(const MeasuredClass& one, const MeasuredClass& other);

// Learns from the measured cells. The learned classes are those that are the choice in some cell; in a cell's
// times the choice is the fastest: what is not clearly faster counts as a thousandth slower. All rounds are
// there beside them.
Tuning tuning_of(const std::vector<MeasuredCell>& cells, const std::string& machine,
                 const TrainOptions& options);

}  // namespace wia
