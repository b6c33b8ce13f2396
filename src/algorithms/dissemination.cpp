// dissemination: a barrier in ceil(log2 n) rounds (Hensgen, Finkel, Manber, "Two algorithms for barrier
// synchronization", 1988). In round k every member tells the one 2^k behind it that it and all from whom it
// has heard have come; the numbers double, until they are all.
#include "algorithms/builders.hpp"
#include "algorithms/peers.hpp"
#include "algorithms/phases.hpp"

namespace wia {

void dissemination_barrier(Builder& builder, const Team& team, int lane, int tag) {
  const int n = team.size();
  for (int distance = 1; distance < n; distance *= 2) {
    builder.send(lane, team.ranks[around(team.me + distance, n)], Ref(), tag, 0);
    builder.recv(lane, team.ranks[around(team.me - distance, n)], Ref(), tag, 0);
  }
}

Result<Schedule> dissemination_barrier(const Shape& shape) {
  Builder builder(shape);
  dissemination_barrier(builder, whole_group(shape), 0, 0);
  return std::move(builder).finish();
}

}  // namespace wia
