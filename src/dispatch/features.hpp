// What a selector may know of a call, and the numbers that it computes with.
//
// To add a quantity: a member of CallShape and a row in kQuantities; to let models use it: a row in kFeatures
// (features.cpp). Tables and tuning files name both, so older files keep their meaning. Pure; thread safe.
#pragma once
#include <limits>
#include <span>
#include <string_view>

namespace wia {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// A call, as the same on all its ranks. What is not known is NaN.
struct CallShape {
  double bytes = kUnknown;  // as docs/architecture.md counts them
  double ranks = kUnknown;
  double nodes = kUnknown;
  double ranks_per_node = kUnknown;
  double nics_per_node = kUnknown;
  double alpha_us = kUnknown;        // measured latency between nodes
  double bandwidth_GBps = kUnknown;  // measured, between nodes
  double dtype_bytes = kUnknown;
};

// Known, or from the ranks of a node.
double nodes_of(const CallShape& call);

// A member by name, as a column of a table or a member of a file, and what it may be.
struct Quantity {
  const char* name;
  double CallShape::*member;
  double least, most;
  bool whole;
};
std::span<const Quantity> call_quantities();

// A number of a call. NaN: not known there.
struct Feature {
  const char* name;
  const char* meaning;
  double (*value)(const CallShape& call);
};
std::span<const Feature> call_features();
const Feature* find_feature(std::string_view name);  // null: there is none

}  // namespace wia
