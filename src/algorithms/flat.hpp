// Whole collectives from phases on the whole group.
#pragma once
#include "algorithms/phases.hpp"

namespace wia {

// Chunk p is rank p's.
Result<Schedule> flat_reduce_scatter(const Shape& shape, ReduceScatter reduce_scatter);
Result<Schedule> flat_all_gather(const Shape& shape, AllGather all_gather);
// Splits into one chunk a rank: first each rank gets the sum of its chunk, then everyone gets all chunks.
Result<Schedule> flat_all_reduce(const Shape& shape, const Composition& composition);

// Where the own contribution to an all_gather is.
Place own_block(const Shape& shape);

}  // namespace wia
