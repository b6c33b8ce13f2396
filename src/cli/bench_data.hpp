// Data of `wia bench`: what every rank contributes, and what must come out. Computed in exact integers and
// doubles, without the library's own arithmetic.
#pragma once
#include <cstddef>
#include <cstdint>

#include "cli/bench_options.hpp"

namespace wia::cli::bench {

struct Shape {
  Kind kind;
  DType dtype = DType::float32;
  Op op = Op::sum;
  int root = 0, rank = 0, ranks = 1;
  size_t count = 0;  // as the call takes it
};

size_t send_count(const Shape& shape);  // elements; 0: this rank sends nothing
size_t recv_count(const Shape& shape);
bool combines(Kind kind);  // an op plays a part
bool rooted(Kind kind);

// Element i of a rank's contribution. Small integers that every dtype holds exactly; neighbours and ranks
// differ.
double contribution(const Shape& shape, int rank, size_t i);
// Fills `count` elements at `data` with this rank's contribution.
void fill(const Shape& shape, void* data, size_t count);
// Elements of this rank's result that are wrong. Floats that had to be rounded may differ by 2 units in the
// last place. Of results above a million elements every 13th is looked at.
size_t count_wrong(const Shape& shape, const void* result);

}  // namespace wia::cli::bench
