// The ranks of one communicator, all in this process, for tests of what holds for every transport.
#pragma once
#include <cstddef>

#include "transport/endpoint.hpp"

namespace wia {

class TransportGroup {
 public:
  virtual ~TransportGroup() = default;
  virtual Endpoint& at(int rank) = 0;
  // Memory that can be sent without a copy, if the transport has such; lives as long as the group.
  virtual std::byte* memory(size_t bytes) = 0;
};

}  // namespace wia
