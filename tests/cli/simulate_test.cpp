// wia simulate as a command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "base/json.hpp"
#include "base/read_file.hpp"
#include "cli/command.hpp"

namespace wia {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct SimulateMistake {
  std::vector<std::string> arguments, words;
};
void PrintTo(const SimulateMistake& mistake, std::ostream* out) {
  *out << testing::PrintToString(mistake.arguments);
}

class SimulateUsage : public testing::TestWithParam<SimulateMistake> {};

TEST_P(SimulateUsage, AMistakeIsOneLineThatNamesIt) {
  std::vector<std::string> arguments = GetParam().arguments;
  arguments.insert(arguments.begin(), "simulate");
  Command command(arguments);
  EXPECT_EQ(command.wait(), 2);
  EXPECT_THAT(command.output, IsEmpty());
  EXPECT_EQ(sorted_lines(command.error).size(), 1u) << command.error;
  EXPECT_THAT(command.error, StartsWith("wia simulate: "));
  for (const std::string& word : GetParam().words) EXPECT_THAT(command.error, HasSubstr(word));
}

INSTANTIATE_TEST_SUITE_P(
    Options, SimulateUsage,
    testing::Values(
        SimulateMistake{{"all", "--ranks", "8"}, {"--machine"}},
        SimulateMistake{{"all", "--machine", "frontier"}, {"--ranks"}},
        SimulateMistake{{"all", "--machine", "summit", "--ranks", "8"},
                        {"--machine", "\"summit\"", "perlmutter"}},
        SimulateMistake{{"frob", "--machine", "frontier", "--ranks", "8"}, {"COLLECTIVE", "\"frob\""}},
        SimulateMistake{{"all", "--machine", "frontier", "--ranks", "0"}, {"--ranks", "\"0\""}},
        SimulateMistake{{"all", "--machine", "frontier", "--ranks", "8", "--sizes", "1X"},
                        {"--sizes", "\"1X\""}},
        SimulateMistake{{"all", "--machine", "frontier", "--ranks", "8", "--sizes", "0"},
                        {"--sizes", "\"0\""}},
        SimulateMistake{{"all", "--machine", "frontier", "--ranks", "8", "--algorithm", "frob"},
                        {"--algorithm", "\"frob\""}},
        SimulateMistake{{"all", "--machine", "frontier", "--ranks", "8", "--trace", "t.json"}, {"--trace"}},
        SimulateMistake{{"all", "--machine", "frontier", "--ranks", "8", "--json", "/nowhere/at/all"},
                        {"--json", "/nowhere/at/all"}},
        SimulateMistake{{"all", "--machine", "/nowhere/m.json", "--ranks", "8"},
                        {"--machine", "/nowhere/m.json"}}));

TEST(SimulateCommand, ShowsTheVendorPcclAndTheBest) {
  Command command({"simulate", "all", "--machine", "frontier", "--ranks", "32", "--sizes", "16M"});
  ASSERT_EQ(command.wait(), 0) << command.error;
  EXPECT_THAT(command.output, StartsWith("# frontier: "));
  for (const char* line : {"\nall_gather, 32 ranks on 4 nodes\n", "16M vendor ", "16M vendor-pathological ",
                           "16M pccl ", "\nreduce_scatter, 32 ranks", "\nall_reduce, 32 ranks"})
    EXPECT_THAT(command.output, HasSubstr(line));
  EXPECT_THAT(command.output, ContainsRegex("16M [a-z_:]+ \\*"));
}

TEST(SimulateCommand, JsonIsAllOfStdout) {
  Command command({"simulate", "all_gather", "--machine", "perlmutter", "--ranks", "8,16", "--sizes", "1M,4M",
                   "--json", "-"});
  ASSERT_EQ(command.wait(), 0) << command.error;
  const Json report = Json::parse(command.output);
  EXPECT_EQ(report["schema"], "wia.simulation/1");
  EXPECT_EQ(report["machine"], "perlmutter");
  ASSERT_EQ(report["results"].size(), 2u * 2 * 3);
  for (const Json& result : report["results"]) {
    double sum = 0;
    for (const auto& part : result["breakdown"].items()) sum += part.value().get<double>();
    EXPECT_NEAR(sum, result["time_us"], 1e-6 * sum) << result.dump();
    EXPECT_GT(result["speedup_over_vendor"], 0) << result.dump();
  }
}

TEST(SimulateCommand, WritesATimeline) {
  const std::string path = testing::TempDir() + "/timeline.json";
  Command command({"simulate", "all_reduce", "--machine", "dgx-h100", "--ranks", "16", "--sizes", "1M",
                   "--algorithm", "hierarchical", "--trace", path});
  ASSERT_EQ(command.wait(), 0) << command.error;
  auto text = read_file(path, 1 << 24);
  ASSERT_TRUE(text.ok()) << text.status().text();
  EXPECT_GT(Json::parse(*text)["traceEvents"].size(), 16u);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace wia
