// Makes the endpoint of a communicator: by shared memory, by the network, or by both.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "communicator/world.hpp"
#include "transport/endpoint.hpp"

namespace wia {

// Collective over `members` (ranks of the world; this one is number `rank`), under the same name.
// `staging_bytes`: of a rank, the same on all.
Result<std::unique_ptr<Endpoint>> connect(World& world, const std::vector<int>& members, int rank,
                                          const std::string& name, size_t staging_bytes, Deadline deadline);

}  // namespace wia
