// Rank 0's tuning file chooses for all ranks, real calls correct it, and a bad one is refused by all (S30).
#include "dispatch/tuning_file.hpp"
#include "field/collectives.hpp"
#include "temporary_folder.hpp"

namespace wia::field {
namespace {

// all_reduce of `bytes`: the ring is said to be the fastest of three that are close.
Tuning tuning_of(int ranks, double bytes) {
  CollectiveTuning one;
  one.collective = Collective::all_reduce;
  one.learned.classes = {"ring", "two_phase/slice=32K", "halving_doubling"};
  LearnedModel::Svm& svm = one.learned.svms.emplace_back();
  svm.features = {{find_feature("log2_bytes"), 3, 20, 0.1}};
  svm.biases = {1, 1, 1};
  CollectiveTuning::Cell cell;
  cell.call.bytes = bytes;
  cell.call.ranks = ranks;
  cell.call.nodes = over().network() ? ranks : 1;
  cell.times_us = {1.0, 1.1, 1.2};
  one.cells = {cell};
  Tuning tuning;
  tuning.machine = "made up";
  tuning.collectives = {one};
  return tuning;
}

using TuningFile = TemporaryFolder;

// Far more calls than it takes to try others and to change; blocking ones and such that overlap.
TEST_F(TuningFile, IsCorrectedAndNobodyDisagrees) {
  constexpr int kRanks = 4;
  constexpr size_t kCount = 512;
  const std::string file = write("t.json", to_text(tuning_of(kRanks, kCount * 8)));
  expect_good(run_ranks(kRanks, [&](int me) {
    if (me == 0) setenv("WIA_TUNING", file.c_str(), 1);
    if (me == 1) setenv("WIA_TUNING", "/nowhere/else.json", 1);
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (int i = 0; i < 400; ++i) WIA_RUN(check_case(w, {Collective::all_reduce, kCount}));
    Buffer<> in(kCount), out(kCount);
    in.fill(me);
    for (int i = 0; i < 200; ++i) {
      wia_request_t* requests[4];
      Buffer<> results[] = {Buffer<>(kCount), Buffer<>(kCount), Buffer<>(kCount), Buffer<>(kCount)};
      for (int r = 0; r < 4; ++r)
        WIA_OK(wia_all_reduce(in.data(), results[r].data(), kCount, WIA_INT64, WIA_OP_SUM, w, &requests[r]));
      for (wia_request_t* request : requests) WIA_OK(wia_request_wait(request, -1));
      for (Buffer<>& result : results)
        for (size_t e = 0; e < kCount; e += 37) WIA_CHECK(result.get(e) == sum(kRanks, e));
    }
    WIA_RUN(check_case(w, {Collective::all_reduce, 3}));
    WIA_OK(wia_communicator_destroy(w));
    return 0;
  }));
}

// In the middle of a decision: what is under way is let go.
TEST_F(TuningFile, TimesThatAreBeingToldMayBeLeft) {
  const std::string file = write("t.json", to_text(tuning_of(2, 64)));
  expect_good(run_ranks(2, [&](int me) {
    setenv("WIA_TUNING", file.c_str(), 1);
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    Buffer<> in(8), out(8);
    in.fill(me);
    for (int i = 0; i < 65; ++i)
      WIA_OK(wia_all_reduce(in.data(), out.data(), 8, WIA_INT64, WIA_OP_SUM, w, nullptr));
    WIA_OK(wia_communicator_destroy(w));
    WIA_OK(wia_finalize());
    return 0;
  }));
}

TEST_F(TuningFile, ABadOneIsRefusedByAllRanks) {
  const std::string good = to_text(tuning_of(2, 64));
  std::vector<std::pair<std::string, std::string>> files;  // path, what the error says
  for (int tenth = 0; tenth < 10; ++tenth)
    files.emplace_back(write("cut" + std::to_string(tenth), good.substr(0, good.size() * tenth / 10)),
                       "cut" + std::to_string(tenth));
  std::string newer = good, foreign = good;
  newer.replace(newer.find("wia.tuning/1"), 12, "wia.tuning/9");
  for (size_t at; (at = foreign.find("halving_doubling")) != std::string::npos;)
    foreign.replace(at, 16, "vendor");
  files.emplace_back(write("newer", newer), "wia.tuning/1");
  files.emplace_back(write("foreign", foreign), "class vendor of all_reduce");
  files.emplace_back(folder_, folder_);
  files.emplace_back(folder_ + "/none", "none");
  for (const auto& [file, text] : files) {
    const Results results = run_ranks(2, [&](int) {
      setenv("WIA_TUNING", file.c_str(), 1);
      wia_communicator_t* w = nullptr;
      if (start(&w) == 0) return 9;
      std::printf("%s\n", wia_last_error_message());
      return 0;
    });
    for (const RankResult& result : results) {
      EXPECT_EQ(result.code, 0) << file << ": " << result.text;
      EXPECT_NE(result.text.find(text), std::string::npos) << file << ": " << result.text;
      EXPECT_NE(result.text.find("WIA_TUNING of rank 0"), std::string::npos) << result.text;
    }
  }
}

}  // namespace
}  // namespace wia::field
