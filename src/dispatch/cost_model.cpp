#include "dispatch/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "schedule/chains.hpp"

namespace wia {
namespace {

constexpr size_t kMostSteps = size_t{1} << 22;  // of all ranks; what takes more is hopeless on so many
constexpr double kUsPerByte = 1e-3;             // at 1 GB/s

// What the steps of all ranks add up to, in chunks.
class Load {
 public:
  Load(const Group& group, const MachineCosts& costs)
      : group_(group), costs_(costs), nodes_(static_cast<size_t>(group.num_nodes())) {}

  void add(int rank, const Schedule& schedule) {
    Traffic mine;
    Traffic& node = nodes_[static_cast<size_t>(node_of(rank))];
    double reduced = 0, messages = 0;
    for (int l = 0; l < schedule.lanes(); ++l) {
      for (const Step& step : schedule.lane(l)) {
        if (step.kind == Kind::reduce) reduced += step.chunks * std::max(step.sources - 1, 0);
        if (step.kind == Kind::recv_reduce) reduced += step.chunks;
        if (step.peer < 0) continue;
        ++messages;
        const bool sends = step.kind == Kind::send;
        if (!crosses(rank, step.peer)) {
          (sends ? mine.sent : mine.received) += step.chunks;
        } else {
          (sends ? mine.sent_out : mine.received_out) += step.chunks;
          (sends ? node.sent_out : node.received_out) += step.chunks;
        }
      }
    }
    most_messages_ = std::max(most_messages_, messages);
    busiest_us_ =
        std::max({busiest_us_, mine.inside() * costs_.node.bandwidth_us(),
                  mine.outside() * network().bandwidth_us(), reduced * kUsPerByte / costs_.reduce_GBps});
  }

  double messages() const { return most_messages_; }
  // Of the busiest rank or node, for chunks of one byte.
  double us() const {
    double most = busiest_us_;
    if (costs_.node_network_GBps > 0)
      for (const Traffic& node : nodes_)
        most = std::max(most, node.outside() * kUsPerByte / costs_.node_network_GBps);
    return most;
  }
  bool crosses(int a, int b) const { return node_of(a) != node_of(b); }
  const WayCost& way(int a, int b) const { return crosses(a, b) ? network() : costs_.node; }

 private:
  struct Traffic {
    double sent = 0, received = 0, sent_out = 0, received_out = 0;
    double inside() const { return std::max(sent, received); }
    double outside() const { return std::max(sent_out, received_out); }
  };
  int node_of(int rank) const { return group_.nodes.empty() ? 0 : group_.nodes[static_cast<size_t>(rank)]; }
  const WayCost& network() const { return costs_.network ? *costs_.network : costs_.node; }

  const Group& group_;
  const MachineCosts& costs_;
  std::vector<Traffic> nodes_;
  double busiest_us_ = 0, most_messages_ = 0;
};

}  // namespace

int Group::num_nodes() const { return nodes.empty() ? 1 : *std::max_element(nodes.begin(), nodes.end()) + 1; }

Shape Group::shape(Collective collective, int rank) const {
  Shape shape;
  shape.collective = collective;
  shape.ranks = ranks;
  shape.rank = rank;
  shape.in_place = collective == Collective::broadcast;
  shape.units = units;
  return shape;
}

Result<Price> Price::of(const Algorithm& algorithm, const Group& group, const MachineCosts& costs) {
  std::vector<Schedule> schedules;
  Load load(group, costs);
  for (int rank = 0; rank < group.ranks; ++rank) {
    auto schedule = algorithm.build(group.shape(algorithm.collective, rank));
    if (!schedule) return schedule.take_status();
    if (schedule->num_steps() * static_cast<size_t>(group.ranks) > kMostSteps)
      return Status::error(Code::unsupported, "{} takes {} steps on each of {} ranks: too many to price",
                           algorithm.name, schedule->num_steps(), group.ranks);
    schedules.push_back(std::move(schedule.value()));
    load.add(rank, schedules.back());
  }
  Price price;
  price.chunks_ = std::max({schedules[0].input_chunks(), schedules[0].output_chunks(), 1u});
  const auto reduced = [&](int, const Step& step) {
    const double chunks = step.kind == Kind::reduce        ? step.chunks * std::max(step.sources - 1, 0)
                          : step.kind == Kind::recv_reduce ? step.chunks
                                                           : 0;
    return chunks * kUsPerByte / costs.reduce_GBps;
  };
  price.latency_us_ = longest_chain(
      schedules, [&](int rank, const Step& step) { return load.way(rank, step.peer).alpha_us; },
      [](int, const Step&) { return 0.0; });
  price.chain_us_ =
      longest_chain(
          schedules,
          [&](int rank, const Step& step) { return step.chunks * load.way(rank, step.peer).bandwidth_us(); },
          reduced) /
      price.chunks_;
  price.load_us_ = load.us() / price.chunks_;
  price.overhead_us_ = load.messages() * costs.message_us;
  return price;
}

double Price::time_us(size_t bytes, double slices) const {
  const auto all = static_cast<double>(bytes);
  return latency_us_ + slices * overhead_us_ + all * load_us_ +
         all * std::max(chain_us_ - load_us_, 0.0) / slices;
}

double Price::best_slices(size_t bytes) const {
  if (overhead_us_ <= 0) return 1;
  return std::max(std::sqrt(static_cast<double>(bytes) * std::max(chain_us_ - load_us_, 0.0) / overhead_us_),
                  1.0);
}

}  // namespace wia
