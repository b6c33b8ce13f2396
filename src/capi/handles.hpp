// Between the C interface and the library: handles and error reporting.
#pragma once
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "communicator/communicator.hpp"
#include "topology/topology.hpp"
#include "wia/wia.h"

struct wia_tensor {
  void* data;
  std::vector<size_t> shape;
  wia_dtype_t dtype;
  bool owned;
  size_t count() const {
    size_t n = 1;
    for (const size_t extent : shape) n *= extent;
    return n;
  }
};

struct wia_topology {
  std::shared_ptr<const wia::Topology> topology;
  std::string json;  // of it
};

namespace wia::capi {

// Keeps the error for wia_last_error and gives its code. in_progress is no error.
wia_status_t report(Status status);
// For functions that return pointers.
template <class T = void>
T* null(Status status) {
  report(std::move(status));
  return nullptr;
}

// The communicator behind a handle; null after reporting why there is none. Handles and the objects behind
// them stay readable after destroy, so that a use after destroy is an error and not a crash.
Communicator* resolve(const wia_communicator_t* handle);
Communicator* behind(const wia_communicator_t* handle);  // the same for a handle that is one; reports nothing
// Makes a handle; destroyed by wia_finalize at the latest.
wia_communicator_t* publish(std::shared_ptr<Communicator> communicator);
// What the handle's `topology` shows from now on.
void show_topology(wia_communicator_t* handle, std::unique_ptr<wia_topology> topology);
void destroy(wia_communicator_t* handle);
void destroy_all();

inline wia_request_t* to_handle(Request* request) { return reinterpret_cast<wia_request_t*>(request); }
inline Request* from_handle(wia_request_t* request) { return reinterpret_cast<Request*>(request); }

// The communicator of wia_init; null (reported) before.
Communicator* world();

}  // namespace wia::capi
