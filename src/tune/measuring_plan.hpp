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
    std::vector<std::string> variants;  // at large sizes the two best classes are tried with these endings
    bool refines = true;                // adds sizes between neighbours whose choices differ
  };
  // One of a cell's rounds: these classes, in this order.
  struct Round {
    size_t cell;
    std::vector<size_t> classes;
  };
  enum class Stand { too_long, not_measured, undecided, decided };

  // `cells`: what is asked for.
  MeasuringPlan(std::vector<MeasuredCell> cells, MakeCell make, Options options);

  // Goes on from what was measured before. What is not asked for is kept.
  void take_over(const Tuning& before);
  // Nothing: all is clear, or nothing that is not would fit into the seconds that are left.
  std::optional<Round> next(double seconds_left);
  void add(size_t cell, size_t which, double microseconds);
  void refuse(size_t cell, size_t which);  // the class cannot be used there

  // In the order of Round::cell; some were not measured.
  const std::vector<MeasuredCell>& cells() const { return cells_; }
  // Of what is asked for; by collective and size.
  std::vector<size_t> asked() const;
  Stand stand(size_t cell) const;
  // How long one look at a class shall take at least: longer looks are steadier, but they have to fit.
  double look_s() const { return look_s_; }

 private:
  struct Plan {
    bool asked;             // else the cell is only kept
    int level = 0;          // 0: of the coarsest grid of sizes
    bool added = false;     // by refining
    bool too_long = false;  // would be measured, had it been shorter
    bool varied = false;
  };
  std::vector<size_t> rivals(const MeasuredCell& cell) const;
  size_t rounds(const MeasuredCell& cell) const;
  bool clear(const MeasuredCell& cell) const;
  double seconds_of_round(const MeasuredCell& cell) const;
  void vary(size_t i);
  bool refine();
  std::vector<size_t> sorted() const;
  size_t place_of(Collective collective, double bytes);

  const MakeCell make_;
  const Options options_;
  double look_s_;
  std::vector<MeasuredCell> cells_;
  std::vector<Plan> plans_;  // by cell
};

}  // namespace wia
