// Ports of communicators that have ended. What they have sent may still be on its way, and a connection that
// is closed with something unread takes it along: so they stay open for a while, and nobody waits for it.
// Thread safe.
#pragma once
#include <memory>
#include <vector>

#include "transport/ofi_port.hpp"

namespace wia {

// Takes them over; they hold no memory of others.
void linger(std::vector<std::unique_ptr<OfiPort>> ports);
// Closes those that have lingered long enough, or are too many.
void close_lingering();

}  // namespace wia
