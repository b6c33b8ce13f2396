// wia verify and wia plan as commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "cli/command.hpp"

namespace wia {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Mistake {
  std::vector<std::string> arguments;
  std::vector<std::string> words;  // of the line on stderr
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << testing::PrintToString(mistake.arguments); }

class ProofUsage : public testing::TestWithParam<Mistake> {};

TEST_P(ProofUsage, AMistakeIsOneLineThatNamesIt) {
  Command command(GetParam().arguments);
  EXPECT_EQ(command.wait(), 2);
  EXPECT_THAT(command.output, IsEmpty());
  EXPECT_EQ(sorted_lines(command.error).size(), 1u) << command.error;
  EXPECT_THAT(command.error, StartsWith("wia " + GetParam().arguments[0] + ": "));
  for (const std::string& word : GetParam().words) EXPECT_THAT(command.error, HasSubstr(word));
}

INSTANTIATE_TEST_SUITE_P(
    Commands, ProofUsage,
    testing::Values(
        Mistake{{"verify", "frob"}, {"COLLECTIVE", "\"frob\""}},
        Mistake{{"verify", "all_reduce", "--algorithm", "frob"}, {"--algorithm", "\"frob\"", "ring"}},
        Mistake{{"verify", "all", "--algorithm", "frob"}, {"--algorithm", "\"frob\""}},
        Mistake{{"verify", "all_reduce", "--ranks", "0"}, {"--ranks", "\"0\""}},
        Mistake{{"verify", "all_reduce", "--ranks", "3-2"}, {"--ranks", "\"3-2\""}},
        Mistake{{"verify", "barrier", "--ranks", "2", "--json", "/nowhere/at/all"},
                {"--json", "/nowhere/at/all"}},
        Mistake{{"plan"}, {"COLLECTIVE"}}, Mistake{{"plan", "barrier", "-n", "2"}, {"--algorithm"}},
        Mistake{{"plan", "frob", "-n", "2", "--algorithm", "ring"}, {"COLLECTIVE", "\"frob\""}},
        Mistake{{"plan", "all_reduce", "-n", "2", "--algorithm", "frob"},
                {"--algorithm", "\"frob\"", "ring"}},
        Mistake{{"plan", "broadcast", "-n", "3", "--algorithm", "direct", "--root", "3"},
                {"--root", "3", "0..2"}},
        Mistake{{"plan", "barrier", "-n", "3", "--algorithm", "direct", "--rank", "-1"}, {"--rank", "-1"}},
        Mistake{{"plan", "barrier", "-n", "3", "--algorithm", "direct", "--nodes", "4"},
                {"--nodes", "1..3"}}));

TEST(VerifyCommand, ShowsWhatIsProven) {
  Command command({"verify", "broadcast", "--ranks", "2-4,7", "--algorithm", "chain"});
  EXPECT_EQ(command.wait(), 0) << command.error;
  EXPECT_THAT(command.error, IsEmpty());
  EXPECT_THAT(command.output, StartsWith("collective "));
  EXPECT_THAT(command.output, testing::ContainsRegex("\nbroadcast +chain +2-4,7 +[0-9]+ +[0-9]+ "));
  EXPECT_THAT(sorted_lines(command.output), testing::SizeIs(2));
}

TEST(VerifyCommand, JsonIsAllOfStdout) {
  Command command({"verify", "all", "--ranks", "3", "--json", "-"});
  ASSERT_EQ(command.wait(), 0) << command.error;
  const Json report = Json::parse(command.output);
  EXPECT_EQ(report["schema"], "wia.verify/1");
  EXPECT_EQ(report["ranks"], Json::array({3}));
  EXPECT_EQ(report["good"], true);
  EXPECT_GE(report["results"].size(), 47u);
  for (const Json& result : report["results"]) {
    EXPECT_EQ(result["proven"], Json::array({3})) << result.dump();
    EXPECT_GT(result["runs"], 0) << result.dump();
    EXPECT_EQ(result["failure"], nullptr) << result.dump();
  }
}

TEST(VerifyCommand, SaysThatItsResultCouldNotBeWritten) {
  Command command({"verify", "barrier", "--ranks", "2", "--json", "/dev/full"});
  EXPECT_EQ(command.wait(), 1);
  EXPECT_THAT(command.error, HasSubstr("/dev/full"));
}

TEST(PlanCommand, SummarizesAllRanks) {
  Command command({"plan", "barrier", "-n", "4", "--algorithm", "dissemination"});
  EXPECT_EQ(command.wait(), 0) << command.error;
  EXPECT_THAT(command.output, StartsWith("barrier dissemination: "));
  EXPECT_THAT(command.output, HasSubstr("\n4 ranks on 1 node\nrounds: 2\n"));
  EXPECT_THAT(command.output, testing::ContainsRegex("\n0-3 +1 +4 +2 +2 "));
}

TEST(PlanCommand, PrintsTheStepsOfARank) {
  Command command({"plan", "broadcast", "-n", "3", "--algorithm", "chain", "--rank", "1", "--root", "2"});
  EXPECT_EQ(command.wait(), 0) << command.error;
  EXPECT_THAT(command.output, HasSubstr("3 ranks on 1 node, root 2\nrank 1: "));
  EXPECT_THAT(command.output, HasSubstr("lane 0: recv output"));
}

}  // namespace
}  // namespace wia
