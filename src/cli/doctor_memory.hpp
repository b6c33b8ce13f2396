// Whether this machine lets processes share memory the way ranks do.
#pragma once
#include <cstddef>

#include "base/status.hpp"

namespace wia::cli {

// A child process makes a heap; this one opens it through /proc/PID/fd, as a rank opens another's, and both
// see what the other writes. Gives the heap's address space in bytes, or what failed. Call it before this
// process has a heap or threads.
Result<size_t> try_shared_heap(size_t heap_bytes);

}  // namespace wia::cli
