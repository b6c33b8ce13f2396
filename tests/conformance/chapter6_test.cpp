// Starts the chapter's examples (section_6_*.c) as jobs.
#include "conformance/chapter6.h"

#include "field/ranks.hpp"

namespace wia::field {
namespace {

struct Example {
  const char* name;
  int (*run)();
  std::vector<int> ranks;
};
void PrintTo(const Example& example, std::ostream* out) { *out << example.name; }

const Example kExamples[] = {
    {"6_2_device_memory", device_memory, {1}},
    {"6_2_bandwidth_measurement", bandwidth_measurement, {1}},
    {"6_2_topology_discovery", topology_discovery, {1, 2, 3}},
    {"6_2_topology_of_the_host", topology_of_the_host, {1}},
    {"6_3_all_reduce", all_reduce_example, {1, 2, 4, 5}},
    {"6_3_ring_all_reduce", ring_all_reduce, {1, 2, 3, 4}},
    {"6_3_broadcast", broadcast_example, {1, 3, 4}},
    {"6_3_reduce_scatter", reduce_scatter_example, {1, 3, 4}},
    {"6_3_all_gather", all_gather_example, {1, 3, 4}},
    {"6_5_world_communicator", world_communicator, {1, 3}},
    {"6_5_multi_communicator", multi_communicator, {8}},
    {"6_5_send_recv", ring_shift, {1, 2, 5}},
    {"6_6_overlap", overlap_of_communication, {1, 2, 4}},
    {"6_6_gradient_bucketing", gradient_bucketing, {2}},
    {"6_6_wait_timeout", wait_with_timeout, {2}},
    {"6_8_barrier", barrier_example, {1, 4}},
};

class Chapter6 : public testing::TestWithParam<Example> {};

TEST_P(Chapter6, Example) {
  for (const int ranks : GetParam().ranks)
    expect_good(run_ranks(ranks, [](int) { return GetParam().run() || wia_finalize() != WIA_SUCCESS; }));
}

INSTANTIATE_TEST_SUITE_P(Conformance, Chapter6, testing::ValuesIn(kExamples),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace wia::field
