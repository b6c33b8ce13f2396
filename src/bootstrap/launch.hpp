// Finds out who this process is in its job: rank, size, where to meet the others. Reads only what base's
// environment gives it, so that tests can set up any launcher.
//
// Thread safe: no state. docs/launching.md says what each launcher sets and what is made of it.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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
  std::string master_host;       // empty: ranks are on this host and meet at 127.0.0.1 through `ports`
  std::vector<int> ports;        // where rank 0 may serve, in order of preference; one, where it was given;
                                 // none: a world of one that meets nobody
  bool store_is_served = false;  // the launcher serves the store (wia run); else rank 0 does
};

// Order: WIA_*, torchrun, Open MPI, MPICH and Intel MPI (PMI), PMIx, Slurm; none: a world of one. An
// incomplete or contradictory set is an error that names the variables and their values.
Result<Launch> detect_launch(const Environment& environment);

// The store of the job: starts the server where this rank has to (kept in *server, and used again by the next
// call: others may start their next world before rank 0 has left this one), then connects. The store
// knows this process as the holder of its rank: a second process on the same rank is refused by the name of
// the first. Errors: rank 0 names the port and, as far as it can be told, who holds it; the others say what
// each port answered.
Result<std::unique_ptr<Store>> join_store(const Launch& launch, Deadline deadline,
                                          std::unique_ptr<StoreServer>* server);

// "process 12 on host n1"
std::string this_process();

// Eight different ports from 20000 to 31999 (below those the system gives to outgoing connections), the same
// for every rank of the job, and most likely others for other jobs.
std::vector<int> ports_of_job(std::string_view job);

// The first host of a Slurm node list: "nid[0012-0015,0020],gpu3" begins with nid0012. Empty: not a list.
std::string first_of_node_list(std::string_view list);

}  // namespace wia
