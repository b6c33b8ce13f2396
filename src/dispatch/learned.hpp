// Chooses by support vector machines, as learned from measured cells (src/tune).
//
// For every pair of classes C-SVCs with radial kernels say which of the two is the faster; those of other
// parameters vote together, since measured cells are too few to tell which parameters are the best. The class
// that wins most pairs is chosen (libsvm's one against one); among equals it is the clearest winner. All
// pairs of an SVM share their support vectors, so a choice costs one kernel value a vector. Outside the range
// that was measured the nearest measured value of a feature counts. LearnedModel is data; LearnedSelector is
// thread safe.
#pragma once
#include <array>
#include <vector>

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

  // One kernel, for all pairs of classes: (0, 1), (0, 2), ..., (1, 2), ...
  struct Svm {
    std::vector<Scaled> features;
    double gamma = 1;
    double cost = 1;             // C; told to people
    std::vector<double> biases;  // by pair
    std::vector<Vector> vectors;
    bool operator==(const Svm&) const = default;
  };

  std::vector<std::string> classes;
  std::vector<Svm> svms;

  bool operator==(const LearnedModel&) const = default;
};

constexpr size_t pairs_of(size_t classes) { return classes * (classes - 1) / 2; }
constexpr size_t kMostClasses = 32, kMostFeatures = 32, kMostSvms = 64;

// What is inconsistent in it; "": nothing.
std::string flaw_of(const LearnedModel& model);
std::string flaw_of(const LearnedModel::Svm& svm, size_t pairs);

// By pair, between -1 and 1; above 0 the first of the two is the faster.
using Decisions = std::array<double, pairs_of(kMostClasses)>;
// All classes, the one to be chosen first.
std::vector<size_t> ranking_of(const Decisions& decisions, size_t classes);

class LearnedSelector : public Selector {
 public:
  explicit LearnedSelector(LearnedModel model);  // that has no flaw

  std::string_view choose(const CallShape& call) const override;
  std::vector<Candidate> explain(const CallShape& call) const override;
  size_t choose_class(const CallShape& call) const;
  std::vector<size_t> rank_classes(const CallShape& call) const;  // the chosen one first
  Decisions decide(const CallShape& call) const;                  // the mean over the SVMs
  const LearnedModel& model() const { return model_; }

 private:
  LearnedModel model_;
  std::vector<std::vector<double>> scaled_;  // by SVM: its vectors' values, one after the other
};

}  // namespace wia
