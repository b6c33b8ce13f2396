// Whether this process is a fork of one that used the library: such a child shares memory and connections
// with its parent and must not touch them.
#pragma once
#include "base/status.hpp"

namespace wia {

void watch_forks();  // from now on; harmless when repeated
bool in_forked_child();
Status forked_status();

}  // namespace wia
