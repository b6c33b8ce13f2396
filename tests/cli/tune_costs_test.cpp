// Which node each rank is on.
#include "cli/tune_costs.hpp"

#include <gmock/gmock.h>

namespace wia {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Topology topology(const std::vector<int>& hosts) {
  Topology topology;
  for (const int host : hosts) topology.endpoints.push_back({host, {}, {}, {}});
  return topology;
}

TEST(TuneCosts, NodesAreHostsOrImposedOrRanks) {
  const Topology two = topology({0, 0, 1, 1});
  EXPECT_THAT(cli::nodes_of(two, 2, 0), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(cli::nodes_of(two, 4, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(cli::nodes_of(two, 2, 3), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(cli::nodes_of(two, 3, 0), IsEmpty());  // nobody knows which
}

}  // namespace
}  // namespace wia
