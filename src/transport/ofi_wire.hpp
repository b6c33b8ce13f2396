// Frames over libfabric: by the endpoints of reliable datagrams that this process has on its NICs. See
// wire.hpp for the interface; docs/formats/frames.md has what travels.
//
// A connection of the Network beside it, opened when a pair first has something to say, shows that the peer
// is of this job and lives, and carries the last words: not every provider tells of a peer that is gone.
// This header needs no libfabric; a build without it has a make_ofi_wire() that says so.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/address.hpp"
#include "base/status.hpp"
#include "base/wait.hpp"
#include "transport/tcp_wire.hpp"
#include "transport/wire.hpp"

namespace wia {

struct OfiOptions {
  std::vector<Address> addresses;  // of the network interfaces to use, for providers that go by them
  bool device_memory = false;      // ask for FI_HMEM: buffers may be a device's
  bool wake_sleepers = false;      // at a price for each message, see OfiPort
};

class OfiWire : public Wire {
 public:
  // How the peers reach this communicator's rank at the process's endpoints, in a word.
  virtual std::string name() const = 0;
  // Before attach(): the names of all, by rank, and the connections beside. `rails_to(peer, n)`: which of the
  // n NICs that both have are used between the two.
  virtual void meet(int rank, const std::vector<std::string>& names,
                    const std::function<std::vector<int>(int peer, int nics)>& rails_to,
                    std::unique_ptr<TcpWire> control) = 0;
};

// `communicator`: known to its ranks alone. What comes for it from now on is kept.
Result<std::unique_ptr<OfiWire>> make_ofi_wire(const OfiOptions& options, uint64_t communicator);

// Whether what comes wakes sleepers: as options ask for, and where the provider can tell. Else they have to
// look from time to time. Opens the endpoints.
bool ofi_wakes_sleepers(const OfiOptions& options);
// Before a sleep at the bell, beside Network::arm().
void arm_ofi(Doorbell& bell);

// False: something that wires have sent which are gone by now is still on its way at the deadline.
bool settle_ofi(Deadline deadline);

// "1.17; usable here: tcp;ofi_rxm on eth0 lo": version, providers in the order of preference; or why there is
// none.
Result<std::string> describe_ofi();

}  // namespace wia
