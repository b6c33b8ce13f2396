// A host that is cut off in silence: no connection is closed, nothing more arrives. Every rank, on both sides
// of the cut, ends its call within the timeout and 5 s, and names the peer, its address and the call.
#include <gmock/gmock.h>

#include "field/data.hpp"

namespace wia::field {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr double kTimeout = 2;
constexpr int kCutOff = 2;  // the host, and the rank on it

struct Cut {
  const char* name;
  int where;
  const char* command;
};
const Cut kCuts[] = {{"carrier_lost", kCutOff, "ip link set eth0 down"},
                     {"silence", Hosts::kSwitch, "ip link set n2-0 nomaster"}};

struct Doing {
  const char* name;
  // Over and over; `x` has 2,000,000 elements.
  std::function<wia_status_t(wia_communicator_t*, int64_t* x)> call;
  const char* text;  // of the error
};
std::vector<Doing> doings() {
  const auto reduce = [](size_t count) {
    return [count](wia_communicator_t* w, int64_t* x) {
      return wia_all_reduce(x, x, count, WIA_INT64, WIA_OP_MAX, w, nullptr);
    };
  };
  return {{"large_sums", reduce(2'000'000), "all_reduce of 2000000 int64"},
          {"small_sums", reduce(1), "all_reduce of 1 int64"},
          {"barriers", [](wia_communicator_t* w, int64_t*) { return wia_barrier(w); }, "barrier"},
          {"messages",
           [](wia_communicator_t* w, int64_t* x) {
             const int me = wia_rank(w), other = me == kCutOff ? 0 : kCutOff;
             if (me == 1) return wia_barrier(w);
             if (const auto status = wia_sendrecv(x, 1000, other, x + 1000, 1000, other, WIA_INT64, 3, w))
               return status;
             return wia_barrier(w);
           },
           "(a (send|receive) of 8000 bytes|barrier)"},
          {"groups",
           [](wia_communicator_t* w, int64_t*) {
             wia_communicator_t* group = nullptr;
             const auto status = wia_communicator_duplicate(w, &group);
             return status ? status : wia_communicator_destroy(group);
           },
           "communicator world/"}};
}

class NetworkPartition : public OnHosts, public testing::WithParamInterface<std::tuple<size_t, size_t>> {};

TEST_P(NetworkPartition, IsNoticedOnBothSidesInTime) {
  const Cut& cut = kCuts[std::get<0>(GetParam())];
  const Doing doing = doings()[std::get<1>(GetParam())];
  const Hosts hosts(3);
  Options options;
  options.hosts = &hosts;
  Job job(
      3,
      [&](int) {
        setenv("WIA_INIT_TIMEOUT", "3", 1);  // of the finalization, too
        wia_communicator_t* w = nullptr;
        WIA_RUN(start(&w, static_cast<int64_t>(kTimeout * 1000)));
        std::vector<int64_t> x(2'000'000, 1);
        wia_status_t status = WIA_SUCCESS;
        double began = 0;
        for (int i = 0; status == WIA_SUCCESS; ++i) {
          if (i == 3) {
            std::puts("under way");
            std::fflush(stdout);
          }
          began = seconds();
          status = doing.call(w, x.data());
        }
        std::printf("%s\n", wia_last_error_message());
        WIA_CHECK(seconds() - began < kTimeout + 5);
        WIA_CHECK(status == WIA_ERROR_TIMEOUT || status == WIA_ERROR_PEER_FAILED);
        WIA_OK(wia_finalize());
        return 0;
      },
      options);
  for (int r = 0; r < 3; ++r) ASSERT_TRUE(job.shows(r, "under way"));
  hosts.run(cut.where, cut.command);
  const Results& results = job.collect();
  expect_good(results);
  for (const RankResult& result : results) EXPECT_THAT(result.text, ContainsRegex(doing.text));
  EXPECT_THAT(results[kCutOff].text, ContainsRegex("(rank [01] |the store at).*10.77.0.[12]"));
  // Of the two on this side, one may wait for the other, and name it; that one knows who is cut off.
  EXPECT_THAT(results[0].text, ContainsRegex("rank [12] .*10.77.0.[23]"));
  EXPECT_THAT(results[1].text, ContainsRegex("rank [02] .*10.77.0.[13]"));
  EXPECT_THAT(results[0].text + results[1].text, ContainsRegex("rank 2 .*10.77.0.3"));
}

INSTANTIATE_TEST_SUITE_P(Field, NetworkPartition,
                         testing::Values(std::tuple(0, 0), std::tuple(1, 0), std::tuple(1, 1),
                                         std::tuple(0, 2), std::tuple(1, 3), std::tuple(0, 4),
                                         std::tuple(1, 4)),
                         [](const auto& parameter) {
                           return std::string(doings()[std::get<1>(parameter.param)].name) + "_" +
                                  kCuts[std::get<0>(parameter.param)].name;
                         });

}  // namespace
}  // namespace wia::field
