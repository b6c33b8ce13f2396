// Support vector machines for two classes, as libsvm trains them. svm.cpp alone sees libsvm.
//
// Deterministic: nothing is drawn by chance. Thread safe as libsvm is: training keeps no state between calls.
#pragma once
#include <cstddef>
#include <vector>

namespace wia {

struct SvmProblem {
  std::vector<std::vector<double>> points;
  std::vector<int> sides;    // +1 or -1, by point
  std::vector<int> repeats;  // how often each point counts, 1 or more
};

// The decision at x is bias + sum of weights[i] exp(-gamma |x - points[i]|^2); above 0: the side +1.
struct SvmDecision {
  double bias = 0;
  std::vector<double> weights;  // by point; 0: no support vector
};

// C-SVC with a radial kernel. A problem whose points are all of one side has that side everywhere.
SvmDecision train_svm(const SvmProblem& problem, double cost, double gamma);

}  // namespace wia
