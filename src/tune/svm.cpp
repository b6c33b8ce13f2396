#include "tune/svm.hpp"

#include <svm.h>

#include <memory>
#include <stdexcept>

namespace wia {
namespace {

struct FreeModel {
  void operator()(svm_model* model) const { svm_free_and_destroy_model(&model); }
};

svm_parameter parameters(double cost, double gamma) {
  svm_parameter parameter = {};
  parameter.svm_type = C_SVC;
  parameter.kernel_type = RBF;
  parameter.gamma = gamma;
  parameter.C = cost;
  parameter.cache_size = 16;
  parameter.eps = 1e-3;
  parameter.shrinking = 1;
  return parameter;
}

}  // namespace

SvmDecision train_svm(const SvmProblem& problem, double cost, double gamma) {
  SvmDecision decision;
  decision.weights.assign(problem.points.size(), 0);
  size_t of_first = 0;
  for (const int side : problem.sides) of_first += side > 0;
  if (of_first == 0 || of_first == problem.sides.size()) {
    decision.bias = problem.sides.empty() ? 0 : problem.sides.front();
    return decision;
  }

  // libsvm weighs classes, not points: a point that counts twice is there twice.
  std::vector<std::vector<svm_node>> nodes;
  std::vector<svm_node*> rows;
  std::vector<double> labels;
  std::vector<size_t> point_of;
  nodes.reserve(problem.points.size());
  for (size_t i = 0; i < problem.points.size(); ++i) {
    std::vector<svm_node>& row = nodes.emplace_back();
    for (size_t f = 0; f < problem.points[i].size(); ++f)
      row.push_back({static_cast<int>(f) + 1, problem.points[i][f]});
    row.push_back({-1, 0});
    for (int copy = 0; copy < problem.repeats[i]; ++copy) {
      rows.push_back(row.data());
      labels.push_back(problem.sides[i]);
      point_of.push_back(i);
    }
  }
  svm_set_print_string_function([](const char*) {});
  const svm_problem all = {static_cast<int>(rows.size()), labels.data(), rows.data()};
  const svm_parameter parameter = parameters(cost, gamma);
  if (const char* why = svm_check_parameter(&all, &parameter))
    throw std::invalid_argument(std::string("libsvm refuses to train: ") + why);
  const std::unique_ptr<svm_model, FreeModel> model(svm_train(&all, &parameter));
  // libsvm's first side is that of the first row.
  const double sign = model->label[0] > 0 ? 1 : -1;
  decision.bias = -sign * model->rho[0];
  for (int v = 0; v < model->l; ++v)
    decision.weights[point_of[static_cast<size_t>(model->sv_indices[v]) - 1]] += sign * model->sv_coef[0][v];
  return decision;
}

}  // namespace wia
