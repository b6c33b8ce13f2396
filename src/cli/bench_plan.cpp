#include "cli/bench_plan.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/machine.hpp"
#include "dispatch/tactic.hpp"
#include "reduce/reducer.hpp"

namespace wia::cli::bench {
namespace {

// Whether sizes are those of one block for each rank.
bool has_blocks(Kind kind) {
  return kind == Collective::all_gather || kind == Collective::reduce_scatter || kind == Collective::gather ||
         kind == Collective::scatter || kind == Collective::all_to_all;
}

// What a size is a multiple of.
size_t unit_of(const Cell& cell, int ranks) {
  return size_of(cell.dtype) * (has_blocks(cell.kind) ? static_cast<size_t>(ranks) : 1);
}

class Planner {
 public:
  Planner(const Options& options, int ranks, const Config& config, uint64_t available)
      : options_(options), ranks_(ranks), config_(config), available_(available) {}

  Plan make() && {
    if (options_.root >= ranks_)
      throw CLI::ValidationError(
          "--root", fmt::format("{} is no rank of {}; there are 0 to {}", options_.root, ranks_, ranks_ - 1));
    check_algorithm_name();
    for (const Kind kind : options_.kinds)
      for (const std::string& algorithm : algorithms_for(kind)) add_types(kind, algorithm);
    if (plan_.cells.empty()) throw CLI::ValidationError(first_flag_, first_reason_);
    return std::move(plan_);
  }

 private:
  void note(const std::string& text) {
    if (std::find(plan_.notes.begin(), plan_.notes.end(), text) == plan_.notes.end())
      plan_.notes.push_back(text);
  }
  void leave_out(const char* flag, const std::string& reason) {
    if (first_flag_.empty()) first_flag_ = flag, first_reason_ = reason;
    note("left out: " + reason);
  }

  // A name that no collective asked for has is a mistake.
  void check_algorithm_name() const {
    const std::string& name = options_.algorithm;
    if (name == "auto" || name == "all") return;
    std::string problem = fmt::format("\"{}\": sendrecv has only auto", name);
    for (const Kind kind : options_.kinds) {
      if (!kind) continue;
      const auto found = parse_tactic(*kind, name);
      if (found) return;
      problem = found.status().text();
    }
    if (options_.kinds.size() > 1)
      problem = fmt::format("none of the collectives has an algorithm \"{}\"", name);
    throw CLI::ValidationError("--algorithm", problem);
  }

  std::vector<std::string> algorithms_for(Kind kind) {
    const std::string& name = options_.algorithm;
    if (name == "auto" || (name == "all" && !kind)) return {"auto"};
    std::vector<Tactic> tactics;
    if (kind && name == "all") {
      for (const Algorithm* algorithm : algorithms_of(*kind)) tactics.push_back({algorithm});
    } else if (kind) {
      if (auto found = parse_tactic(*kind, name)) tactics = {*found};
    }
    std::vector<std::string> names;
    for (const Tactic& tactic : tactics) {
      const Status status = fits(*tactic.algorithm);
      if (status) names.push_back(name_of(tactic));
      if (!status)
        leave_out("--algorithm",
                  fmt::format("{} of {}: {}", tactic.algorithm->name, name_of(kind), status.text()));
    }
    if (tactics.empty())
      leave_out("--algorithm", fmt::format("{}: has no algorithm {}", name_of(kind), name));
    return names;
  }

  // Looks at all ranks, so that none starts a call that another one refuses.
  Status fits(const Algorithm& algorithm) const {
    if (config_.deterministic && wia::reduces(algorithm.collective) && !algorithm.rank_order)
      return Status(Code::unsupported, "does not combine in the order of ranks (WIA_DETERMINISTIC)");
    Shape shape;
    shape.collective = algorithm.collective;
    shape.ranks = ranks_;
    shape.root = wia::has_root(algorithm.collective) ? options_.root : 0;
    if (config_.ranks_per_node > 0 && config_.ranks_per_node < ranks_) {
      auto& node = shape.units.emplace_back();
      for (int rank = 0; rank < ranks_; ++rank) node.push_back(rank / config_.ranks_per_node);
    }
    for (shape.rank = 0; shape.rank < ranks_; ++shape.rank) {
      shape.in_place = in_place_at(algorithm.collective, shape.rank);
      auto schedule = algorithm.build(shape);
      if (!schedule) return schedule.take_status();
    }
    return {};
  }
  bool in_place_at(Collective collective, int rank) const {
    if (collective == Collective::broadcast) return true;
    return options_.in_place && (!wia::has_root(collective) || rank == options_.root);
  }

  void add_types(Kind kind, const std::string& algorithm) {
    Cell cell;
    cell.kind = kind;
    cell.algorithm = algorithm;
    cell.root = cell.has_root() ? options_.root : 0;
    cell.in_place = options_.in_place;
    if (cell.is_barrier()) {
      cell.in_place = false;
      cell.dtype = DType::uint8;
      return plan_.cells.push_back(cell);
    }
    if (!kind && cell.in_place) return leave_out("--in-place", "sendrecv: needs two buffers");
    for (const DType dtype : options_.dtypes) {
      cell.dtype = dtype;
      for (const Op op : cell.reduces() ? options_.ops : std::vector<Op>{Op::sum}) {
        cell.op = op;
        const auto reducer = Reducer::make(dtype, op, ranks_);
        if (reducer || !cell.reduces())
          add_sizes(cell);
        else
          leave_out("--op", reducer.status().text());
      }
    }
  }

  void add_sizes(Cell cell) {
    std::vector<uint64_t> done;
    for (const uint64_t bytes : options_.sizes) {
      set_size(&cell, bytes, ranks_);
      if (cell.bytes != bytes) note_rounding(cell, bytes);
      if (std::find(done.begin(), done.end(), cell.bytes) != done.end()) continue;
      done.push_back(cell.bytes);
      check_memory(cell);
      plan_.cells.push_back(cell);
    }
  }

  void note_rounding(const Cell& cell, uint64_t asked) {
    const size_t unit = unit_of(cell, ranks_);
    const std::string whole =
        has_blocks(cell.kind)
            ? fmt::format("one {} for each of {} ranks is {} bytes", wia::name_of(cell.dtype), ranks_, unit)
            : fmt::format("a {} is {} bytes", wia::name_of(cell.dtype), unit);
    note(fmt::format("{}: {} bytes are rounded {} to {}; {}", name_of(cell.kind), asked,
                     cell.bytes < asked ? "down" : "up", cell.bytes, whole));
  }

  void check_memory(const Cell& cell) const {
    const long double needed = memory_of(cell, ranks_);
    if (needed <= static_cast<long double>(available_)) return;
    throw CLI::ValidationError(
        options_.size_flag,
        fmt::format("{} of {} bytes on {} ranks needs {:.0f} bytes of memory ({}); {} are available ({})",
                    name_of(cell.kind), cell.bytes, ranks_, needed, bytes_text(static_cast<double>(needed)),
                    available_, bytes_text(static_cast<double>(available_))));
  }

  const Options& options_;
  const int ranks_;
  const Config& config_;
  const uint64_t available_;
  Plan plan_;
  std::string first_flag_, first_reason_;  // of what was left out
};

Call call_of(const Cell& cell) {
  Call call;
  call.collective = *cell.kind;
  call.count = cell.count;
  call.dtype = cell.dtype;
  call.root = cell.root;
  return call;
}

}  // namespace

size_t Cell::send_elements(int rank, int ranks) const {
  if (is_barrier()) return 0;
  return kind ? wia::send_elements(call_of(*this), rank, ranks) : count;
}

size_t Cell::recv_elements(int rank, int ranks) const {
  if (is_barrier()) return 0;
  return kind ? wia::recv_elements(call_of(*this), rank, ranks) : count;
}

void set_size(Cell* cell, uint64_t bytes, int ranks) {
  const size_t unit = unit_of(*cell, ranks);
  cell->count = bytes == 0 ? 0 : std::max<uint64_t>(bytes / unit, 1);
  cell->bytes = cell->count * unit;
}

long double memory_of(const Cell& cell, int ranks) {
  long double needed = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto send = static_cast<long double>(cell.send_elements(rank, ranks));
    const auto recv = static_cast<long double>(cell.recv_elements(rank, ranks));
    needed += (cell.in_place ? std::max(send, recv) : send + recv) * size_of(cell.dtype);
  }
  return needed;
}

double bus_factor(Kind kind, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  if (kind == Collective::all_reduce) return 2 * others;
  return has_blocks(kind) ? others : 1;
}

Plan make_plan(const Options& options, int ranks, const Config& config, uint64_t available) {
  return Planner(options, ranks, config, available).make();
}

}  // namespace wia::cli::bench
