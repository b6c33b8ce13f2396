// A topology as text for people: a tree, and a matrix for each thing that links have. Pure.
#pragma once
#include <string>

#include "topology/topology.hpp"

namespace wia::cli {

std::string tree_text(const Topology& topology);
// Of more than 16 endpoints a table of the kinds of links instead.
std::string links_text(const Topology& topology);

}  // namespace wia::cli
