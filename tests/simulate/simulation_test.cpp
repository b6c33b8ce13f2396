#include "simulate/simulation.hpp"

#include <gmock/gmock.h>

#include "base/json.hpp"

namespace wia {
namespace {

using testing::HasSubstr;

// 2 ranks and 1 NIC a node unless a test says otherwise; round figures: 1 GB/s are 1000 bytes a microsecond.
MachineModel tiny() {
  const auto figure = [](double value) { return Figure::assumed(value, "for a test"); };
  MachineModel model;
  model.name = "tiny";
  model.ranks_per_node = 2, model.nics_per_node = 1;
  model.node = {figure(1), figure(10)};
  model.network = {figure(5), figure(1)};
  model.overhead_us = figure(0.5);
  model.reduce_GBps = figure(4), model.copy_GBps = figure(8);
  model.call_us = figure(2);
  model.slice_bytes = 1 << 30;
  return model;
}
MachineModel one_rank_a_node() {
  MachineModel model = tiny();
  model.ranks_per_node = 1;
  return model;
}

SimulationResult run(const MachineModel& model, const SimulatedCall& call, const std::string& algorithm) {
  auto result = simulate(model, call, algorithm, Slicing::whole);
  EXPECT_TRUE(result.ok()) << algorithm << ": " << result.status().text();
  return result ? std::move(*result) : SimulationResult();
}
double sum_of_parts(const Moment& moment) {
  double sum = 0;
  for (const double part : moment.parts) sum += part;
  return sum;
}

// --- Against closed forms -------------------------------------------------------------------------

// call + send + bytes / bandwidth + alpha + receive
TEST(Simulation, OneMessageBetweenNodes) {
  auto result = run(one_rank_a_node(), {Collective::broadcast, 2, 100'000}, "direct");
  EXPECT_NEAR(result.end.us, 2 + 0.5 + 100 + 5 + 0.5, 1e-9);
  EXPECT_NEAR(result.end[Cost::latency], 8, 1e-9);
  EXPECT_NEAR(result.end[Cost::nic], 100, 1e-9);
  EXPECT_EQ(result.messages, 1u);
}

TEST(Simulation, OneMessageInsideANode) {
  auto result = run(tiny(), {Collective::broadcast, 2, 100'000}, "direct");
  EXPECT_NEAR(result.end.us, 2 + 0.5 + 10 + 1 + 0.5, 1e-9);
  EXPECT_NEAR(result.end[Cost::links], 10, 1e-9);
}

TEST(Simulation, ARingOfRanks) {
  for (const int ranks : {2, 3, 5, 16}) {
    const uint64_t block = 40'000;
    auto result =
        run(one_rank_a_node(), {Collective::all_gather, ranks, block * static_cast<uint64_t>(ranks)}, "ring");
    const double copied = 40.0 / 8;  // the own block, before or beside the first message
    const double steps = (ranks - 1) * (0.5 + 40 + 5 + 0.5);
    EXPECT_GE(result.end.us, 2 + steps - 1e-9) << ranks;
    EXPECT_LE(result.end.us, 2 + steps + copied + 1e-9) << ranks;
    EXPECT_EQ(result.messages, static_cast<uint64_t>(ranks) * static_cast<uint64_t>(ranks - 1));
  }
}

// A sum of two is as long as its result / reduce_GBps; each round's sum is written where it is and sent from
// there.
TEST(Simulation, SumsTakeTheRanksTime) {
  MachineModel slow = one_rank_a_node(), fast = slow;
  fast.reduce_GBps.value = 1e6;
  const SimulatedCall call{Collective::reduce_scatter, 2, 80'000};
  const double difference = run(slow, call, "ring").end.us - run(fast, call, "ring").end.us;
  EXPECT_NEAR(difference, 40.0 / 4, 0.01);
}

// Both ranks of a node send a block to the other node over one NIC: the second waits for the first.
TEST(Simulation, TwoRanksShareANic) {
  MachineModel model = tiny();
  const SimulatedCall call{Collective::all_gather, 4, 400'000};
  const double shared = run(model, call, "hierarchical").end.us;
  model.nics_per_node = 2;
  const double own = run(model, call, "hierarchical").end.us;
  EXPECT_NEAR(shared - own, 100, 1e-6);
  model.nics_per_node = 4;  // and now each stripes over two
  EXPECT_NEAR(own - run(model, call, "hierarchical").end.us, 50, 1e-6);
}

TEST(Simulation, GroupsShareALink) {
  MachineModel model = one_rank_a_node();
  const SimulatedCall call{Collective::all_gather, 4, 400'000};
  const double without = run(model, call, "halving_doubling").end.us;
  model.nodes_per_group = 2;
  EXPECT_NEAR(run(model, call, "halving_doubling").end.us, without, 1e-9) << "no limit is known";
  model.group_GBps = Figure::assumed(1, "half of what two NICs send");
  EXPECT_GT(run(model, call, "halving_doubling").end.us, without + 100);
}

TEST(Simulation, ANodeHasALimit) {
  MachineModel model = tiny();
  model.ranks_per_node = 4;
  const SimulatedCall call{Collective::all_gather, 4, 4'000'000};
  const double without = run(model, call, "ring").end.us;
  model.node_total_GBps = Figure::assumed(10, "as one port");
  EXPECT_GT(run(model, call, "ring").end.us, 3 * without);
}

TEST(Simulation, SharedCoresSerialiseWork) {
  MachineModel model = one_rank_a_node();
  const SimulatedCall call{Collective::all_reduce, 8, 8'000'000};
  const double alone = run(model, call, "ring").end[Cost::reduction];
  model.shared_cores = 1;
  const Moment shared = run(model, call, "ring").end;
  EXPECT_GT(shared[Cost::waiting] + shared[Cost::reduction], 3 * alone);
}

TEST(Simulation, TheVendorIsARingByAFormula) {
  const auto figure = [](double value) { return Figure::assumed(value, "for a test"); };
  const VendorModel vendor{"healthy", Collective::all_reduce, figure(3), figure(2)};
  auto result = simulate_vendor(tiny(), {Collective::all_reduce, 10, 1'000'000}, vendor);
  EXPECT_NEAR(result.end.us, 2 + 18 * (3 + 50), 1e-9);
  EXPECT_EQ(result.algorithm, "vendor");
}

// pccl: across the nodes, then inside, then the whole buffer is copied.
TEST(Simulation, PcclShufflesTheWholeBuffer) {
  MachineModel model = tiny();
  const SimulatedCall call{Collective::all_gather, 8, 8'000'000};
  const double slow = run(model, call, "pccl").end.us;
  model.copy_GBps.value = 16;
  const double fast = run(model, call, "pccl").end.us;
  EXPECT_GE(slow - fast, 8000.0 / 16 - 1e-6);
  EXPECT_FALSE(simulate(model, {Collective::all_gather, 7, 1000}, "pccl").ok());
  EXPECT_THAT(simulate(model, {Collective::broadcast, 8, 1000}, "pccl").status().text(),
              HasSubstr("broadcast"));
}

// --- In general -----------------------------------------------------------------------------------

TEST(Simulation, TheSameInputGivesTheSameResult) {
  auto model = find_machine_model("frontier");
  ASSERT_TRUE(model.ok());
  const SimulatedCall call{Collective::all_reduce, 48, 10'000'000};
  auto first = simulate(*model, call, "hierarchical"), second = simulate(*model, call, "hierarchical");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->end.us, second->end.us);
  EXPECT_EQ(first->end.parts, second->end.parts);
  EXPECT_EQ(first->messages, second->messages);
}

TEST(Simulation, OneNodeHasNoMoreRanks) {
  MachineModel model = tiny();
  model.network = {};
  EXPECT_TRUE(simulate(model, {Collective::all_gather, 2, 1000}, "ring").ok());
  EXPECT_THAT(simulate(model, {Collective::all_gather, 3, 1000}, "ring").status().text(),
              HasSubstr("at most 2 ranks"));
}

// Work is counted, not time: events and looks of a message stay what they are, however many messages there
// are.
TEST(Simulation, CostGrowsLinearlyWithTheMessages) {
  auto model = find_machine_model("perlmutter");
  ASSERT_TRUE(model.ok());
  for (const char* algorithm : {"ring", "hierarchical"}) {
    double first = 0;
    for (const int ranks : {32, 64, 128, 256}) {
      auto result = simulate(*model, {Collective::all_gather, ranks, 1 << 26}, algorithm);
      ASSERT_TRUE(result.ok()) << result.status().text();
      const double each = static_cast<double>(result->operations) / static_cast<double>(result->messages);
      if (first == 0) first = each;
      std::printf("%s, %d ranks: %lu messages, %.2f operations each\n", algorithm, ranks,
                  static_cast<unsigned long>(result->messages), each);
      EXPECT_LT(each, 1.1 * first) << algorithm;
    }
    EXPECT_LT(first, 12) << algorithm;
  }
}

struct World {
  int ranks, ranks_per_node, nics;
};
void PrintTo(const World& world, std::ostream* out) {
  *out << world.ranks << " ranks, " << world.ranks_per_node << " a node, " << world.nics << " NICs";
}

class SimulatedShapes : public testing::TestWithParam<World> {};

// Sliced and whole, small and large: it ends, every message is received, and the parts add up.
TEST_P(SimulatedShapes, EveryAlgorithmEnds) {
  MachineModel model = tiny();
  model.ranks_per_node = GetParam().ranks_per_node, model.nics_per_node = GetParam().nics;
  model.slice_bytes = 4096;
  for (const Algorithm& algorithm : all_algorithms())
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{8}, uint64_t{1'000'000}})
      for (const Slicing slicing : {Slicing::library, Slicing::whole}) {
        const SimulatedCall call{algorithm.collective, GetParam().ranks, bytes};
        auto result = simulate(model, call, algorithm.name, slicing);
        ASSERT_TRUE(result.ok()) << name_of(algorithm.collective) << " " << algorithm.name << " " << bytes
                                 << ": " << result.status().text();
        EXPECT_GE(result->end.us, 2);
        EXPECT_NEAR(sum_of_parts(result->end), result->end.us, 1e-9 * result->end.us);
      }
}

INSTANTIATE_TEST_SUITE_P(Worlds, SimulatedShapes,
                         testing::Values(World{1, 1, 1}, World{2, 2, 1}, World{5, 2, 1}, World{8, 4, 4},
                                         World{12, 4, 2}, World{13, 3, 1}, World{16, 1, 2}, World{32, 8, 4}));

TEST(Simulation, TheTraceTellsWhatRanksDid) {
  Trace trace(1000), small(3);
  const SimulatedCall call{Collective::all_reduce, 4, 40'000};
  auto result = simulate(tiny(), call, "ring", Slicing::whole, &trace);
  ASSERT_TRUE(result.ok());
  uint64_t sends = 0;
  double end = 0;
  for (const Trace::Entry& entry : trace.entries()) {
    sends += entry.activity == Activity::send;
    end = std::max(end, entry.begin_us + entry.us);
  }
  EXPECT_EQ(sends, result->messages);
  EXPECT_LE(end, result->end.us + 1e-9);
  const Json json = Json::parse(trace.text("title"));
  EXPECT_GT(json["traceEvents"].size(), trace.entries().size());

  ASSERT_TRUE(simulate(tiny(), call, "ring", Slicing::whole, &small).ok());
  EXPECT_EQ(small.entries().size(), 3u);
  EXPECT_EQ(small.left_out(), trace.entries().size() - 3);
  EXPECT_EQ(Json::parse(small.text("title"))["otherData"]["activities_left_out"], small.left_out());
}

TEST(Simulation, TheBestIsNoSlowerThanAnyCandidate) {
  const SimulatedCall call{Collective::all_reduce, 8, 1 << 20};
  auto best = simulate_best(tiny(), call);
  ASSERT_TRUE(best.ok());
  for (const SimulatedCandidate& candidate : candidates(call))
    EXPECT_LE(best->end.us, simulate(tiny(), call, candidate.algorithm, candidate.slicing)->end.us);
}

}  // namespace
}  // namespace wia
