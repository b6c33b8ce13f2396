// Who moves and adds up the data of an execution in place of the host: a simulator, which charges time for
// it, or a device. Not thread safe: called by the thread that advances the execution.
#pragma once
#include <cstddef>

#include "reduce/reducer.hpp"

namespace wia {

class DataMover {
 public:
  virtual ~DataMover() = default;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void reduce(const Reducer& reducer, const ReduceArguments& arguments) = 0;
  // Memory of so many bytes for chunks on their way; valid until the next call. Null: there is none.
  virtual std::byte* scratch(size_t bytes) = 0;
};

}  // namespace wia
