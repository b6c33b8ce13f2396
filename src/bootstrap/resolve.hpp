// Host names and ports as socket addresses, within a time limit.
//
// Thread safe. The system's resolver takes no time limit and may wait for name servers that do not answer; it
// runs in a thread of its own, which is left behind when the deadline passes.
#pragma once
#include <string>
#include <vector>

#include "base/address.hpp"
#include "base/deadline.hpp"
#include "base/status.hpp"

namespace wia {

enum class Purpose { connect, listen };

// IPv4 and IPv6 addresses of `host` (a name or a literal, also in brackets), in the resolver's order. An
// empty host is this host when connecting and all addresses when listening (IPv6, which takes IPv4 too,
// first). Code::unreachable: there is no such host; Code::timeout: the resolver did not answer.
Result<std::vector<Address>> resolve(const std::string& host, int port, Purpose purpose, Deadline deadline);

}  // namespace wia
