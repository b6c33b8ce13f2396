// The builders of all algorithms, for the table (table.cpp).
#pragma once
#include "schedule/schedule.hpp"

namespace wia {

// direct.cpp, direct_reductions.cpp
Result<Schedule> direct_all_reduce(const Shape& shape);
Result<Schedule> direct_all_gather(const Shape& shape);
Result<Schedule> direct_reduce_scatter(const Shape& shape);
Result<Schedule> direct_broadcast(const Shape& shape);
Result<Schedule> direct_reduce(const Shape& shape);
Result<Schedule> direct_gather(const Shape& shape);
Result<Schedule> direct_scatter(const Shape& shape);
Result<Schedule> direct_all_to_all(const Shape& shape);
Result<Schedule> direct_barrier(const Shape& shape);

// two_phase.cpp
Result<Schedule> two_phase_all_reduce(const Shape& shape);
Result<Schedule> two_phase_broadcast(const Shape& shape);
Result<Schedule> two_phase_reduce(const Shape& shape);

// ring.cpp, chain.cpp
Result<Schedule> ring_all_reduce(const Shape& shape);
Result<Schedule> ring_all_gather(const Shape& shape);
Result<Schedule> ring_reduce_scatter(const Shape& shape);
Result<Schedule> chain_broadcast(const Shape& shape);
Result<Schedule> chain_reduce(const Shape& shape);

// double_tree.cpp
Result<Schedule> double_tree_all_reduce(const Shape& shape);
Result<Schedule> double_tree_broadcast(const Shape& shape);
Result<Schedule> double_tree_reduce(const Shape& shape);

// recursive_doubling.cpp, halving_doubling.cpp, dissemination.cpp
Result<Schedule> recursive_doubling_all_reduce(const Shape& shape);
Result<Schedule> halving_doubling_all_reduce(const Shape& shape);
Result<Schedule> halving_doubling_all_gather(const Shape& shape);
Result<Schedule> halving_doubling_reduce_scatter(const Shape& shape);
Result<Schedule> dissemination_barrier(const Shape& shape);

// bruck.cpp
Result<Schedule> bruck_all_gather(const Shape& shape);
Result<Schedule> bruck_all_to_all(const Shape& shape);

// knomial.cpp; `radix` from 2 on.
Result<Schedule> knomial_broadcast(const Shape& shape, int radix);
Result<Schedule> knomial_reduce(const Shape& shape, int radix);
Result<Schedule> knomial_gather(const Shape& shape, int radix);
Result<Schedule> knomial_scatter(const Shape& shape, int radix);
Result<Schedule> knomial_barrier(const Shape& shape, int radix);

// pairwise.cpp
Result<Schedule> pairwise_all_gather(const Shape& shape);
Result<Schedule> pairwise_reduce_scatter(const Shape& shape);
Result<Schedule> pairwise_all_to_all(const Shape& shape);

// hierarchical.cpp, hierarchical_rooted.cpp, hierarchical_all_to_all.cpp: for shape.level_algorithms.
Result<Schedule> hierarchical_all_reduce(const Shape& shape);
Result<Schedule> hierarchical_all_gather(const Shape& shape);
Result<Schedule> hierarchical_reduce_scatter(const Shape& shape);
Result<Schedule> hierarchical_broadcast(const Shape& shape);
Result<Schedule> hierarchical_reduce(const Shape& shape);
Result<Schedule> hierarchical_barrier(const Shape& shape);
Result<Schedule> hierarchical_all_to_all(const Shape& shape);

}  // namespace wia
