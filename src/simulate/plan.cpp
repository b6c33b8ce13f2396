#include "simulate/plan.hpp"

#include <algorithm>

#include "engine/slicing.hpp"

namespace wia {
namespace {

constexpr size_t kElement = 4;                // float32
constexpr size_t kStaging = size_t{1} << 40;  // memory of a device

enum class Teams { all, inside_nodes, across_nodes };

class Planner {
 public:
  Planner(const MachineModel& model, const SimulatedCall& call) : model_(model), call_(call) {}

  Result<SimulatedPlan> of_table(const std::string& name, Slicing slicing) {
    plan_.algorithm = name;
    WIA_RETURN_IF_ERROR(add(Teams::all, call_.collective, name, call_.bytes, slicing == Slicing::library));
    return std::move(plan_);
  }

  Result<SimulatedPlan> of_pccl(const std::string& name) {
    plan_.algorithm = name;
    if (call_.ranks > model_.ranks_per_node && call_.ranks % model_.ranks_per_node != 0)
      return Status::error(Code::unsupported, "pccl needs whole nodes: {} ranks are no multiple of {}",
                           call_.ranks, model_.ranks_per_node);
    using enum Collective;
    switch (call_.collective) {
      case all_gather:
        WIA_RETURN_IF_ERROR(across(all_gather));
        WIA_RETURN_IF_ERROR(inside(all_gather));
        shuffle();
        break;
      case reduce_scatter:
        shuffle();
        WIA_RETURN_IF_ERROR(inside(reduce_scatter));
        WIA_RETURN_IF_ERROR(across(reduce_scatter));
        break;
      case all_reduce:
        // The order of blocks is an affair of its own: nothing is shuffled.
        WIA_RETURN_IF_ERROR(inside(reduce_scatter));
        WIA_RETURN_IF_ERROR(across(reduce_scatter));
        WIA_RETURN_IF_ERROR(across(all_gather));
        WIA_RETURN_IF_ERROR(inside(all_gather));
        break;
      default:
        return Status::error(Code::unsupported, "pccl has no {}", name_of(call_.collective));
    }
    return std::move(plan_);
  }

 private:
  int ranks_of_node() const { return std::min(call_.ranks, model_.ranks_per_node); }
  bool has_levels() const { return ranks_of_node() > 1 && call_.ranks > ranks_of_node(); }

  Status inside(Collective collective) {
    if (ranks_of_node() == 1) return {};
    return add(Teams::inside_nodes, collective, "ring", call_.bytes,
               true);  // the vendor's, which is pipelined
  }
  Status across(Collective collective) {
    if (call_.ranks == ranks_of_node()) return {};
    return add(Teams::across_nodes, collective, plan_.algorithm == kPcclRing ? "ring" : "halving_doubling",
               call_.bytes / static_cast<uint64_t>(ranks_of_node()), false);
  }
  void shuffle() {
    if (has_levels()) plan_.stages.emplace_back().copied_bytes = call_.bytes;
  }

  std::vector<RankTeam> teams_of(Teams teams) const {
    const int node = ranks_of_node(), nodes = (call_.ranks + node - 1) / node;
    std::vector<RankTeam> list;
    if (teams == Teams::all) list.push_back({0, 1, call_.ranks});
    for (int n = 0; teams == Teams::inside_nodes && n < nodes; ++n) list.push_back({n * node, 1, node});
    for (int r = 0; teams == Teams::across_nodes && r < node; ++r) list.push_back({r, node, nodes});
    return list;
  }

  Shape shape_of(Teams teams, Collective collective, int ranks) const {
    Shape shape;
    shape.collective = collective;
    shape.ranks = ranks;
    if (teams == Teams::all) {
      auto& nodes = shape.units.emplace_back();
      for (int r = 0; r < ranks; ++r) nodes.push_back(r / model_.ranks_per_node);
    }
    return shape;
  }

  Status add(Teams teams, Collective collective, const std::string& name, uint64_t bytes, bool sliced) {
    auto algorithm = find_algorithm(collective, name);
    if (!algorithm) return algorithm.take_status();
    SimulatedStage& stage = plan_.stages.emplace_back();
    stage.teams = teams_of(teams);
    const int members = stage.teams.front().size;
    Shape shape = shape_of(teams, collective, members);
    for (shape.rank = 0; shape.rank < members; ++shape.rank) {
      auto built = algorithm.value()->build(shape);
      if (!built) return built.take_status();
      stage.schedules.push_back(std::move(*built));
    }
    for (int member = 0; member < members; ++member) {
      auto binding = bind(collective, stage.schedules[static_cast<size_t>(member)], members, bytes, sliced);
      if (!binding) return binding.take_status();
      stage.bindings.push_back(*binding);
    }
    plan_.slices = std::max(plan_.slices, stage.bindings.front().slices);
    return {};
  }

  Result<Binding> bind(Collective collective, const Schedule& schedule, int members, uint64_t bytes,
                       bool sliced) {
    if (!plan_.reducer) {
      auto reducer = Reducer::make(DType::float32, Op::sum, call_.ranks);
      if (!reducer) return reducer.take_status();
      plan_.reducer = std::make_unique<Reducer>(*reducer);
    }
    const bool blocks = collective != Collective::all_reduce && !has_root(collective);
    const bool divided = blocks || collective == Collective::gather || collective == Collective::scatter;
    const uint64_t count = bytes / kElement / (divided ? static_cast<uint64_t>(members) : 1);
    Binding binding;
    binding.input = imaginary_memory(0), binding.output = imaginary_memory(1);
    binding.raw_bytes = kElement;
    if (reduces(collective)) binding.reducer = plan_.reducer.get();
    set_even_chunks(collective, count, members, schedule, &binding);
    binding.measure();
    binding.direct_from = kDirectFrom;
    binding.slice_elements = std::max(binding.input_extents.longest(), binding.output_extents.longest());
    const size_t most = model_.slice_bytes ? model_.slice_bytes : kUsualSlice;
    if (sliced) set_slices(schedule, {members, most, kStaging}, &binding);
    return binding;
  }

  const MachineModel& model_;
  const SimulatedCall call_;
  SimulatedPlan plan_;
};

}  // namespace

SimulatedStage::Seat SimulatedStage::seat_of(int rank) const {
  const RankTeam& first = teams.front();
  if (first.stride == 1) {
    const int team = rank / first.size;
    return {&teams[static_cast<size_t>(team)], rank - team * first.size};
  }
  return {&teams[static_cast<size_t>(rank % first.stride)], rank / first.stride};
}

Result<SimulatedPlan> make_plan(const MachineModel& model, const SimulatedCall& call,
                                const std::string& algorithm, Slicing slicing) {
  if (model.one_node() && call.ranks > model.ranks_per_node)
    return Status::error(Code::invalid_argument, "{} has no network: at most {} ranks, not {}", model.name,
                         model.ranks_per_node, call.ranks);
  Planner planner(model, call);
  if (algorithm == kPccl || algorithm == kPcclRing) return planner.of_pccl(algorithm);
  return planner.of_table(algorithm, slicing);
}

}  // namespace wia
