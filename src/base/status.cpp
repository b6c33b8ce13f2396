#include "base/status.hpp"

namespace wia {

const char* code_name(Code code) {
  switch (code) {
    case Code::ok:
      return "success";
    case Code::in_progress:
      return "in progress";
    case Code::invalid_argument:
      return "invalid argument";
    case Code::unsupported:
      return "unsupported";
    case Code::out_of_memory:
      return "out of memory";
    case Code::truncated:
      return "message truncated";
    case Code::not_initialized:
      return "not initialized";
    case Code::system:
      return "system call failed";
    case Code::busy:
      return "busy";
    case Code::unreachable:
      return "unreachable";
    case Code::protocol:
      return "protocol error";
    case Code::peer_failed:
      return "peer failed";
    case Code::timeout:
      return "timeout";
    case Code::mismatch:
      return "ranks made different calls";
    case Code::aborted:
      return "communicator aborted";
    case Code::destroyed:
      return "communicator destroyed";
    case Code::forked:
      return "used in a forked child";
  }
  return "unknown status";
}

}  // namespace wia
