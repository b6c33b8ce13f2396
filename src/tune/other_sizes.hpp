// What the sizes of a collective that were measured tell of one that was not. Pure; thread safe.
#pragma once
#include <string>
#include <vector>

#include "tune/measured.hpp"

namespace wia {

// The nearest size above or below that was measured: with this class, "": with any. Null: there is none.
const MeasuredCell* neighbour(const std::vector<MeasuredCell>& cells, const MeasuredCell& cell, bool above,
                              const std::string& name = "");

// Whether the class took over three times as long as the best at the sizes on both sides; at an end, at the
// two next to it.
bool lost_around(const std::vector<MeasuredCell>& cells, const MeasuredCell& cell, const MeasuredClass& one);

// What a call should take: the median of its rounds; else along the line through the two nearest smaller
// sizes. NaN: nothing was measured.
double expected_us(const std::vector<MeasuredCell>& cells, const MeasuredCell& cell,
                   const MeasuredClass& one);

// Whether the class was measured at some size: then all ranks can use it.
bool known_to_fit(const std::vector<MeasuredCell>& cells, Collective collective, const std::string& name);

}  // namespace wia
