// Chooses by support vector machines, as learned from measured cells (src/tune).
//
// For every pair of classes a C-SVC with a radial kernel says which of the two is the faster, and the class
// that wins most pairs is chosen (libsvm's one against one); among equals it is the clearest winner. All
// pairs share their support vectors, so a choice costs one kernel value a vector. Outside the range that was
// measured the nearest measured value of a feature counts. LearnedModel is data; LearnedSelector is thread
// safe.
#pragma once
#include <array>

#include "dispatch/selector.hpp"

namespace wia {

struct LearnedModel {
  // A feature, its range in what was measured, and how much a difference of 1 counts.
  struct Scaled {
    const Feature* feature;
    double least, most, weight;
    double scale(double value) const;
    bool operator==(const Scaled&) const = default;
  };
  struct Vector {
    std::vector<double> values;   // by feature, not scaled
    std::vector<double> weights;  // by pair
    bool operator==(const Vector&) const = default;
  };

  std::vector<std::string> classes;
  std::vector<Scaled> features;
  double gamma = 1;
  double cost = 1;             // C; told to people
  std::vector<double> biases;  // by pair: (0, 1), (0, 2), ..., (1, 2), ...
  std::vector<Vector> vectors;

  bool operator==(const LearnedModel&) const = default;
};

constexpr size_t pairs_of(size_t classes) { return classes * (classes - 1) / 2; }
constexpr size_t kMostClasses = 32, kMostFeatures = 32;

// What is inconsistent in it; "": nothing.
std::string flaw_of(const LearnedModel& model);

class LearnedSelector : public Selector {
 public:
  explicit LearnedSelector(LearnedModel model);  // that has no flaw

  std::string_view choose(const CallShape& call) const override;
  std::vector<Candidate> explain(const CallShape& call) const override;
  size_t choose_class(const CallShape& call) const;
  std::vector<size_t> rank_classes(const CallShape& call) const;  // the chosen one first
  const LearnedModel& model() const { return model_; }

 private:
  struct Standing {
    int wins = 0;
    double margin = 0;  // sum over its pairs, each between -1 and 1
    bool operator<(const Standing& other) const {
      return wins != other.wins ? wins < other.wins : margin < other.margin;
    }
  };
  using Standings = std::array<Standing, kMostClasses>;
  Standings standings_of(const CallShape& call) const;
  std::vector<size_t> order_of(const Standings& standings) const;

  LearnedModel model_;
  std::vector<double> scaled_;  // the vectors' values, one after the other
};

}  // namespace wia
