// All configuration of the library in one struct, read once from the environment. `wia doctor` prints
// it with the origin of each value; docs/configuration.md lists it.
//
// A value; thread safe once read. A variable that is set but empty counts as not set.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/status.hpp"

namespace wia {

// Of WIA_SELECTOR, in the order of dispatch's Selection.
inline constexpr std::array<std::string_view, 4> kSelectors = {"auto", "rules", "model", "svm"};

struct Config {
  log::Level log_level = log::Level::warning;  // WIA_LOG: debug, info, warning, error, off
  int64_t timeout_ms = 600'000;                // WIA_TIMEOUT, seconds: longest wait of a call
  int64_t init_timeout_ms = 300'000;           // WIA_INIT_TIMEOUT, seconds: until all ranks have come
  int64_t late_notice_ms = 30'000;             // WIA_LATE_NOTICE, seconds: then one line says who is missing
  int ranks_per_node = 0;          // WIA_RANKS_PER_NODE: imposes nodes of so many ranks; 0: as it is
  std::string levels;              // WIA_LEVELS: "numa,node,switch"; empty: nodes alone
  std::string switch_name;         // WIA_SWITCH, or from SLURM_TOPOLOGY_ADDR: what this node hangs on
  bool deterministic = false;      // WIA_DETERMINISTIC: 0 or 1
  bool strict = false;             // WIA_STRICT: 0 or 1
  std::string algorithms;          // WIA_ALGORITHM: "all_reduce=ring,broadcast=knomial"
  std::string tuning;              // WIA_TUNING: path of a tuning file; rank 0's counts
  std::string selector = "auto";   // WIA_SELECTOR: auto, rules, model, svm; rank 0's counts
  bool correct_online = true;      // WIA_ONLINE: 0 or 1; rank 0's counts
  std::string wait = "auto";       // WIA_WAIT: auto, spin, yield, sleep
  std::string transport = "auto";  // WIA_TRANSPORT: auto, shm, tcp, ofi
  size_t heap_bytes = 0;     // WIA_HEAP_SIZE: address space for shared memory; 0: by the machine's memory
  size_t slice_bytes = 0;    // WIA_SLICE_SIZE: longest slice of a chunk; 0: default
  size_t staging_bytes = 0;  // WIA_STAGING_SIZE: per rank and communicator; 0: default
  std::string nic;           // WIA_NIC: "eth0,eth1", "^docker"; empty: the default choice

  struct Item {
    std::string variable, value, origin, meaning;  // origin: "default", "environment" or "ignored"
  };
  // What was read, for doctor: every setting in the order above, then the WIA_ variables that are set but
  // unknown ("ignored"; most likely a misspelling).
  std::vector<Item> items;

  // Values that cannot be read are errors that name variable, value and what is allowed.
  static Result<Config> from_environment();
};

}  // namespace wia
