// What `wia bench` is to measure: every line of the table, before the first is measured. All ranks make the
// same plan from the same options.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "cli/bench_options.hpp"
#include "communicator/call.hpp"

namespace wia::cli::bench {

// One line: a call, the same on all ranks.
struct Cell {
  Kind kind;
  std::string algorithm;  // "auto" or a name
  DType dtype = DType::float32;
  Op op = Op::sum;
  int root = 0;
  bool in_place = false;
  size_t count = 0;    // as the call takes it
  uint64_t bytes = 0;  // the footer of the options says of what

  bool reduces() const { return kind && wia::reduces(*kind); }
  bool has_root() const { return kind && wia::has_root(*kind); }
  bool is_barrier() const { return kind == Collective::barrier; }
  // Elements of the buffers of a rank.
  size_t send_elements(int rank, int ranks) const;
  size_t recv_elements(int rank, int ranks) const;
};

// Sets count and bytes: as many elements (for each rank, where sizes are of blocks) as so many bytes hold,
// one at least; none for 0.
void set_size(Cell* cell, uint64_t bytes, int ranks);
// Bytes of the buffers of all ranks; may be more than 64 bits hold.
long double memory_of(const Cell& cell, int ranks);

// busbw / algbw, as nccl-tests define it.
double bus_factor(Kind kind, int ranks);

struct Plan {
  std::vector<Cell> cells;
  std::vector<std::string> notes;  // sizes that were rounded; what was left out, and why
};

// Throws CLI::ValidationError when an option does not fit the number of ranks, when a size does not fit into
// `available` bytes of memory, and when nothing is left to measure.
Plan make_plan(const Options& options, int ranks, const Config& config, uint64_t available);

}  // namespace wia::cli::bench
