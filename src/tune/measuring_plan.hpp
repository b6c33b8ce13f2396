// What `wia tune` measures next, and when it has measured enough.
//
// Cells are visited in rounds: first one look at every class that may be fast, then more at those that are
// close to the best, until it is clear which is, or the time has passed. First come the collectives and sizes
// that tell most; three rounds decide (tune/measured.hpp), so what was decided stays good wherever it stops.
// Pure: it measures nothing and knows no clock. Not thread safe.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/measured.hpp"

namespace wia {

class MeasuringPlan {
 public:
  // The cell of a call with the classes that there are; its bytes may be rounded.
  using MakeCell = std::function<MeasuredCell(Collective collective, double bytes)>;
  struct Options {
    double budget_s = 60;
    std::vector<std::string>
        variants;         // at large sizes the two best classes are tried with these endings too
    bool refines = true;  // adds sizes between neighbours whose choices differ
  };
  // One of a cell's rounds: these classes, in this order.
  struct Round {
    size_t cell;
    std::vector<size_t> classes;
  };
  enum class Stand { too_long, not_measured, undecided, decided };

  // `cells`: what is asked for.
  MeasuringPlan(const std::vector<MeasuredCell>& cells, MakeCell make, Options options);

  // Goes on from what was measured before. What is not asked for is kept.
  void take_over(const Tuning& before);
  // Nothing: all is clear, or nothing that is not would fit into the seconds that are left.
  std::optional<Round> next(double seconds_left);
  // What a call should take, by earlier rounds, else by other sizes; NaN: nobody knows.
  double expected_us(size_t cell, size_t which) const;
  // Whether the class was measured at some size: then all ranks can use it.
  bool known_to_fit(size_t cell, size_t which) const;
  void add(size_t cell, size_t which, double microseconds);
  void refuse(size_t cell, size_t which);  // the class cannot be used there

  const MeasuredCell& cell(size_t i) const { return plans_[i].cell; }
  std::vector<MeasuredCell> cells() const;  // all that were measured, by collective and size
  // Of what is asked for; by collective and size.
  std::vector<size_t> asked() const;
  Stand stand(size_t i) const;
  // How long one look at a class shall take at least: longer looks are steadier, but they have to fit.
  double look_s() const { return look_s_; }

 private:
  struct Plan {
    MeasuredCell cell;
    int level;   // 0: of the coarsest grid of sizes
    bool asked;  // else it is only kept
    bool added;  // by refining
    bool too_long = false, varied = false;
  };
  const Plan* neighbour(const Plan& plan, bool above, const std::string& name = "") const;
  bool far_off(const Plan& plan, const MeasuredClass& one) const;
  std::vector<size_t> rivals(const Plan& plan) const;
  size_t rounds(const Plan& plan) const;
  bool clear(const Plan& plan) const;
  double expected_us(const Plan& plan, const MeasuredClass& one) const;
  double seconds_of_round(const Plan& plan) const;
  void vary(Plan& plan);
  bool refine();
  std::vector<size_t> sorted() const;
  size_t place_of(Collective collective, double bytes, bool asked);

  const MakeCell make_;
  const Options options_;
  double look_s_;
  std::vector<Plan> plans_;
};

}  // namespace wia
