// Finds out who this process is in its job: rank, size, where to meet the others. Reads only what base's
// environment gives it, so that tests can set up any launcher.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "bootstrap/store.hpp"

namespace wia {

using Environment = std::function<std::optional<std::string>(const char* name)>;

struct Launch {
  std::string launcher =
      "none";  // "wia", "torchrun", "openmpi", "mpich" (also Intel MPI), "pmix", "slurm", "none"
  int rank = 0;
  int size = 1;
  JobIdentity identity;
  std::string master_host;       // empty: ranks are on this host and meet through `ports`
  std::vector<int> ports;        // where rank 0 may serve, in order of preference; one, where it was given
  bool store_is_served = false;  // the launcher serves the store (wia run); else rank 0 does
};

// Order: WIA_*, torchrun, Open MPI, MPICH and Intel MPI (PMI), PMIx, Slurm; none: a world of one. An
// incomplete or contradictory set is an error that names the variables and their values.
Result<Launch> detect_launch(const Environment& environment);

// The store of the job: starts the server where this rank has to (kept in *server), then connects.
Result<std::unique_ptr<Store>> join_store(const Launch& launch, Deadline deadline,
                                          std::unique_ptr<StoreServer>* server);

}  // namespace wia
