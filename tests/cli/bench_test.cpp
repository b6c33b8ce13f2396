#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/json.hpp"
#include "cli/bench_plan.hpp"
#include "cli/command.hpp"

namespace wia {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> bench(std::vector<std::string> options) {
  options.insert(options.begin(), "bench");
  return options;
}

// One line on stderr that names the option and its value, nothing on stdout, no rank started.
struct Refusal {
  std::vector<std::string> options;
  std::vector<std::string> words;  // of the line
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << testing::PrintToString(refusal.options); }
class BenchRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(BenchRefuses, WithOneLine) {
  Command command(bench(GetParam().options));
  EXPECT_EQ(command.wait(), 2);
  EXPECT_THAT(command.output, IsEmpty());
  EXPECT_EQ(sorted_lines(command.error).size(), 1u) << command.error;
  EXPECT_THAT(command.error, StartsWith("wia bench: "));
  for (const std::string& word : GetParam().words) EXPECT_THAT(command.error, HasSubstr(word));
  EXPECT_TRUE(command.leaves_nothing());
}

INSTANTIATE_TEST_SUITE_P(
    Options, BenchRefuses,
    testing::Values(Refusal{{"all_reduce", "--min", "1M", "--max", "1K"}, {"--min", "1M", "1K"}},
                    Refusal{{"all_reduce", "--min", "8"}, {"--max"}},
                    Refusal{{"all_reduce", "--sizes", "-1"}, {"--sizes", "-1"}},
                    Refusal{{"all_reduce", "--sizes", "8XB"}, {"--sizes", "8XB"}},
                    Refusal{{"all_reduce", "--sizes", "8,,16"}, {"--sizes", "8,,16"}},
                    Refusal{{"all_reduce", "--sizes", "8", "--max", "16"}, {"--sizes", "--max"}},
                    Refusal{{"all_reduce", "--max", "1K", "--step", "x1"}, {"--step", "x1"}},
                    Refusal{{"all_reduce", "--max", "1K", "--step", "0"}, {"--step", "\"0\""}},
                    Refusal{{"all_reduce", "--min", "0", "--max", "1K"}, {"--min", "0"}},
                    Refusal{{"all_reduce", "--max", "1G", "--step", "8"}, {"--step", "8"}},
                    Refusal{{"all_reduce", "--iterations", "0"}, {"--iterations", "\"0\""}},
                    Refusal{{"all_reduce", "--iterations", "-1"}, {"--iterations", "-1"}},
                    Refusal{{"all_reduce", "--iterations", "many"}, {"--iterations", "many"}},
                    Refusal{{"all_reduce", "-n", "0"}, {"--ranks", "0"}},
                    Refusal{{"all_reduce", "-n", "two"}, {"two"}},
                    Refusal{{"broadcast", "--root", "2"}, {"--root", "2", "0 to 1"}},
                    Refusal{{"all_reduce", "--dtype", "float31"}, {"--dtype", "float31"}},
                    Refusal{{"all_reduce", "--op", "mean"}, {"--op", "mean"}},
                    Refusal{{"all_reduce", "--op", "bxor"}, {"--op", "bxor", "float32"}},
                    Refusal{{"all_reduce", "--algorithm", "square"}, {"--algorithm", "square", "ring"}},
                    Refusal{{"sendrecv", "--algorithm", "ring"}, {"--algorithm", "ring"}},
                    Refusal{{"sendrecv", "--in-place"}, {"--in-place"}},
                    Refusal{{"all_reduce", "--memory", "cold"}, {"--memory", "cold"}},
                    Refusal{{"all_reduce", "--json", "/"}, {"--json", "/"}},
                    Refusal{{"all_reduce", "--json", "/nowhere/at/all"}, {"--json", "/nowhere/at/all"}},
                    Refusal{{"all_reduce", "--iters", "5"}, {"--iters"}},
                    Refusal{{"all_reduce", "more"}, {"more"}},
                    Refusal{{"reduce_all"}, {"reduce_all", "all_reduce"}}, Refusal{{}, {"COLLECTIVE"}},
                    Refusal{{"all_reduce", "--sizes", "1000T"},
                            {"--sizes", "1099511627776000", "4398046511104000", "available"}}));

TEST(Bench, ReadsSizesAsPeopleWriteThem) {
  Command command(bench({"all_reduce", "--sizes", "64k,1.5K,2KiB,0", "--iterations", "1", "--json", "-"}));
  ASSERT_EQ(command.wait(), 0) << command.error;
  std::vector<uint64_t> sizes;
  const Json report = Json::parse(command.output);
  for (const Json& result : report["results"]) sizes.push_back(result["bytes"]);
  EXPECT_THAT(sizes, ElementsAre(65536, 1536, 2048, 0));
}

TEST(Bench, SaysWhichSizesAreRounded) {
  Command command(bench({"all_reduce,all_gather", "-n", "3", "--sizes", "13", "--iterations", "1"}));
  ASSERT_EQ(command.wait(), 0) << command.error;
  EXPECT_THAT(command.output, AllOf(HasSubstr("all_reduce: 13 bytes are rounded down to 12"),
                                    HasSubstr("all_gather: 13 bytes are rounded down to 12")));
}

// The schema, key by key in its order.
TEST(Bench, JsonHasTheFieldsOfItsSchema) {
  Command command(
      bench({"broadcast", "-n", "3", "--sizes", "1K", "--root", "1", "--iterations", "20", "--json", "-"}));
  ASSERT_EQ(command.wait(), 0) << command.error;
  EXPECT_THAT(command.error, HasSubstr("busbw"));  // the table
  const Json report = Json::parse(command.output);
  const auto keys = [](const Json& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    return names;
  };
  EXPECT_THAT(keys(report), ElementsAre("schema", "conditions", "results"));
  EXPECT_EQ(report["schema"], "wia.bench/1");
  EXPECT_THAT(keys(report["conditions"]),
              ElementsAre("host", "cpu", "allowed_cpus", "ranks", "nodes", "transport", "version", "timing"));
  ASSERT_EQ(report["results"].size(), 1u);
  const Json& result = report["results"][0];
  EXPECT_THAT(keys(result), ElementsAre("collective", "algorithm", "ranks", "bytes", "count", "dtype", "op",
                                        "in_place", "iterations", "median_us", "p99_us", "min_us",
                                        "algbw_GBps", "busbw_GBps", "wrong"));
  EXPECT_EQ(result["collective"], "broadcast");
  EXPECT_EQ(result["ranks"], 3);
  EXPECT_EQ(result["bytes"], 1024);
  EXPECT_EQ(result["count"], 256);
  EXPECT_EQ(result["iterations"], 20);
  EXPECT_TRUE(result["wrong"].is_null());  // not checked
  EXPECT_GT(result["min_us"], 0.0);
  EXPECT_LE(result["min_us"], result["median_us"]);
  EXPECT_LE(result["median_us"], result["p99_us"]);
  EXPECT_NEAR(result["algbw_GBps"], 1024 / (result["median_us"].get<double>() * 1e3), 1e-9);
}

TEST(Bench, JsonGoesToAFileBesideTheTable) {
  const std::string path = testing::TempDir() + "wia_bench_" + std::to_string(getpid()) + ".json";
  std::ofstream(path) << std::string(100'000, 'x');  // is replaced, not written into
  Command command(bench({"barrier", "--iterations", "5", "--json", path}));
  EXPECT_EQ(command.wait(), 0) << command.error;
  EXPECT_THAT(command.output, HasSubstr("barrier"));
  std::ifstream file(path);
  const Json report = Json::parse(file, nullptr, false);
  std::filesystem::remove(path);
  ASSERT_FALSE(report.is_discarded());
  EXPECT_EQ(report["results"][0]["collective"], "barrier");
}

TEST(Bench, NoProgressWithoutATerminal) {
  Command command(bench({"all_reduce", "--sizes", "8,16", "--iterations", "1"}));
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.error, IsEmpty());
  EXPECT_EQ(command.output.find('\r'), std::string::npos);
}

// Every collective, every algorithm: nothing wrong.
class BenchChecks : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(BenchChecks, NothingIsWrong) {
  std::vector<std::string> options = {"all", "--check", "--iterations", "2", "--json", "-"};
  options.insert(options.end(), GetParam().begin(), GetParam().end());
  Command command(bench(options));
  ASSERT_EQ(command.wait(200'000), 0) << command.error;
  const Json report = Json::parse(command.output);
  std::set<std::string> collectives;
  for (const Json& result : report["results"]) {
    collectives.insert(result["collective"]);
    EXPECT_EQ(result["wrong"], 0) << result.dump();
  }
  const bool in_place = std::find(options.begin(), options.end(), "--in-place") != options.end();
  EXPECT_EQ(collectives.size(), in_place ? 9u : 10u);
  EXPECT_TRUE(command.leaves_nothing());
}

const std::string kSizes = "0,8,100,4K,96K", kTypes = "i32,f32,bf16";
INSTANTIATE_TEST_SUITE_P(
    All, BenchChecks,
    testing::Values(std::vector<std::string>{"-n", "4", "--sizes", kSizes, "--dtype", kTypes},
                    std::vector<std::string>{"-n", "4", "--sizes", kSizes, "--dtype", kTypes, "--in-place"},
                    std::vector<std::string>{"-n", "3", "--sizes", kSizes, "--dtype", kTypes, "--root", "2",
                                             "--memory", "wia"},
                    std::vector<std::string>{"-n", "1", "--sizes", kSizes, "--dtype", kTypes},
                    std::vector<std::string>{"-n", "4", "--sizes", "8,1000", "--algorithm", "all"},
                    std::vector<std::string>{"-n", "2", "--sizes", "100", "--dtype", "all", "--op", "all"}));

TEST(Bench, JoinsUnderALauncher) {
  Command command({"run", "-n", "2", "--no-prefix", "--", WIA_BINARY_DIR "/wia", "bench", "all_reduce",
                   "--sizes", "8,64K", "--iterations", "3", "--check", "--json", "-"});
  ASSERT_EQ(command.wait(), 0) << command.error;
  const Json report = Json::parse(command.output);  // of rank 0 alone
  EXPECT_EQ(report["conditions"]["ranks"], 2);
  EXPECT_EQ(report["results"].size(), 2u);
}

TEST(Bench, RefusesAnotherNumberOfRanksThanTheLauncher) {
  Command command({"run", "-n", "2", "--", WIA_BINARY_DIR "/wia", "bench", "all_reduce", "-n", "3"});
  EXPECT_EQ(command.wait(), 2);
  EXPECT_THAT(command.error, HasSubstr("-n: 3, but wia has started 2 ranks"));
}

TEST(Bench, LeavesOutWhatDoesNotFitAndSaysSo) {
  setenv("WIA_DETERMINISTIC", "1", 1);
  Command command(
      bench({"all_reduce", "-n", "3", "--sizes", "1K", "--algorithm", "all", "--iterations", "1"}));
  unsetenv("WIA_DETERMINISTIC");
  EXPECT_EQ(command.wait(), 0) << command.error;
  EXPECT_THAT(command.output, AllOf(HasSubstr("left out: ring of all_reduce"), HasSubstr(" two_phase ")));
}

TEST(Bench, AFullDiskIsAnError) {
  Command command(bench({"barrier", "--iterations", "1", "--json", "/dev/full"}));
  EXPECT_EQ(command.wait(), 1);
  EXPECT_THAT(command.error, HasSubstr("/dev/full"));
}

TEST(Bench, BusFactorsAreThoseOfNcclTests) {
  using cli::bench::bus_factor;
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 4), 1.5);
  for (const Collective c : {Collective::all_gather, Collective::reduce_scatter, Collective::gather,
                             Collective::scatter, Collective::all_to_all})
    EXPECT_DOUBLE_EQ(bus_factor(c, 4), 0.75);
  for (const Collective c : {Collective::broadcast, Collective::reduce})
    EXPECT_DOUBLE_EQ(bus_factor(c, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(std::nullopt, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 1), 0);
}

}  // namespace
}  // namespace wia
