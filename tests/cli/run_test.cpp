#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <set>

#include "base/environment.hpp"
#include "bootstrap/launch.hpp"
#include "cli/command.hpp"

namespace wia {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// wia run -n RANKS OPTIONS... -- sh -c SCRIPT
std::vector<std::string> script(int ranks, const std::string& text, std::vector<std::string> options = {}) {
  std::vector<std::string> arguments = {"run", "-n", std::to_string(ranks)};
  arguments.insert(arguments.end(), options.begin(), options.end());
  for (const char* word : {"--", "sh", "-c"}) arguments.emplace_back(word);
  arguments.push_back(text);
  return arguments;
}

TEST(Run, PrefixesWholeLinesOfBothStreams) {
  Command command(script(3, "printf 'one '; printf 'line\\n'; echo trouble >&2; printf 'no end'"));
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(sorted_lines(command.output), ElementsAre("[0] no end", "[0] one line", "[1] no end",
                                                        "[1] one line", "[2] no end", "[2] one line"));
  EXPECT_THAT(sorted_lines(command.error), ElementsAre("[0] trouble", "[1] trouble", "[2] trouble"));
  EXPECT_TRUE(command.leaves_nothing());
}

TEST(Run, LinesStayWholeHoweverManyThereAre) {
  Command command(script(4, "i=0; while [ $i -lt 5000 ]; do echo line $i of many; i=$((i+1)); done"));
  EXPECT_EQ(command.wait(), 0);
  const auto lines = sorted_lines(command.output);
  EXPECT_EQ(lines.size(), 4 * 5000u);
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), lines.size());
  for (const std::string& line : lines)
    ASSERT_THAT(line, testing::MatchesRegex("\\[[0-3]\\] line [0-9]+ of many"));
}

TEST(Run, WithoutPrefixOutputIsLeftAlone) {
  Command command(script(2, "echo plain", {"--no-prefix"}));
  EXPECT_EQ(command.wait(), 0);
  EXPECT_EQ(command.output, "plain\nplain\n");
}

TEST(Run, RankZeroReadsTheInput) {
  Command command(script(2, "cat"), "words\n");
  EXPECT_EQ(command.wait(), 0);
  EXPECT_EQ(command.output, "[0] words\n");
}

TEST(Run, EveryRankKnowsItsPlace) {
  setenv("WIA_RANK", "77", 1);  // of an outer job
  Command command(script(2, "env | grep ^WIA_ | sort"));
  unsetenv("WIA_RANK");
  EXPECT_EQ(command.wait(), 0);
  for (const char* line :
       {"[0] WIA_RANK=0", "[1] WIA_RANK=1", "[0] WIA_WORLD_SIZE=2", "[1] WIA_MASTER_ADDR=127.0.0.1",
        "[1] WIA_STORE_SERVED=1", "[0] WIA_JOB_ID=run/", "[1] WIA_JOB_SECRET="})
    EXPECT_THAT(command.output, HasSubstr(line));
  EXPECT_THAT(command.output, Not(HasSubstr("WIA_RANK=77")));
}

// What the ranks of the next test run.
TEST(RankOfRun, DISABLED_Meets) {
  const Result<Launch> launch = detect_launch(environment);
  ASSERT_TRUE(launch.ok()) << launch.status().text();
  EXPECT_EQ(launch.value().launcher, "wia");
  std::unique_ptr<StoreServer> server;
  auto store = join_store(launch.value(), Deadline::after_ms(10'000), &server);
  ASSERT_TRUE(store.ok()) << store.status().text();
  EXPECT_EQ(server, nullptr);
  ASSERT_TRUE((*store)->add("arrived", 1).ok());
  ASSERT_TRUE((*store)->set(std::to_string(launch.value().rank), "here").ok());
  std::vector<std::string> keys;
  for (int rank = 0; rank < launch.value().size; ++rank) keys.push_back(std::to_string(rank));
  EXPECT_TRUE((*store)->get_all(keys, Deadline::after_ms(10'000), nullptr).ok());
  EXPECT_EQ(*(*store)->get("arrived", Deadline::after_ms(0)), std::to_string(keys.size()));
}

TEST(Run, RanksMeetAtTheStoreItServes) {
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  Command command(
      {"run", "-n", "4", "--", self, "--gtest_also_run_disabled_tests", "--gtest_filter=RankOfRun.*"});
  EXPECT_EQ(command.wait(), 0) << command.output << command.error;
}

TEST(Run, ExitCodeIsThatOfTheFirstRankThatFails) {
  Command command(script(3, "[ $WIA_RANK = 1 ] && exit 7; sleep 0.3; exit 8"));
  EXPECT_EQ(command.wait(), 7);
  EXPECT_EQ(command.error, "wia run: rank 1 exited with code 7; ending the others\n");
  EXPECT_TRUE(command.leaves_nothing());
}

TEST(Run, AKilledRankIsNamedAndTheOthersHaveTimeToReport) {
  // Rank 0 ends at SIGTERM, after 5 s; rank 2 only at SIGKILL, 2 s later; rank 3 reports at once.
  Command command(script(4, R"(
    case $WIA_RANK in
      0) trap 'echo told to end; exit 0' TERM; echo ready; while :; do sleep 0.1; done;;
      1) sleep 0.3; kill -KILL $$;;
      2) trap '' TERM; while :; do sleep 0.1; done;;
      3) sleep 0.6; echo lost a peer; exit 3;;
    esac)"));
  const int64_t began = now_ns();
  EXPECT_EQ(command.wait(), 128 + SIGKILL);
  const double seconds = static_cast<double>(now_ns() - began) / 1e9;
  EXPECT_GE(seconds, 7.0);
  EXPECT_LT(seconds, 10.0);
  EXPECT_THAT(command.error,
              HasSubstr("wia run: rank 1 was killed by signal 9 (SIGKILL); ending the others\n"));
  EXPECT_THAT(command.output, HasSubstr("[3] lost a peer\n"));
  EXPECT_THAT(command.output, HasSubstr("[0] told to end\n"));
  EXPECT_TRUE(command.leaves_nothing());
}

TEST(Run, AProgramThatCannotBeStarted) {
  Command missing({"run", "-n", "3", "--", "no-such-program", "-x"});
  EXPECT_EQ(missing.wait(), 127);
  EXPECT_EQ(missing.error, "wia run: cannot start rank 0: no-such-program: No such file or directory\n");
  Command no_program({"run", "-n", "3", "--", "/etc/passwd"});
  EXPECT_EQ(no_program.wait(), 126);
  EXPECT_THAT(no_program.error, HasSubstr("/etc/passwd: Permission denied"));
}

TEST(Run, InterruptReachesEveryRank) {
  Command command(script(2, "trap 'echo interrupted; exit 0' INT; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(command.shows("[0] ready") && command.shows("[1] ready"));
  command.send(SIGINT);
  EXPECT_EQ(command.wait(5'000), 128 + SIGINT);
  EXPECT_THAT(command.output, HasSubstr("[0] interrupted"));
  EXPECT_THAT(command.output, HasSubstr("[1] interrupted"));
  EXPECT_EQ(command.error, "wia run: got SIGINT; ending all ranks\n");
  EXPECT_TRUE(command.leaves_nothing());
}

TEST(Run, ASecondInterruptIsInAHurry) {
  Command command(script(2, "trap '' INT; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(command.shows("[0] ready") && command.shows("[1] ready"));
  command.send(SIGINT);
  ASSERT_TRUE(command.shows("") && !command.leaves_nothing(100));
  command.send(SIGINT);
  EXPECT_EQ(command.wait(4'000), 128 + SIGINT);
  EXPECT_TRUE(command.leaves_nothing());
}

TEST(Run, TerminationIsPassedOn) {
  Command command(script(2, "echo ready; exec sleep 300"));
  ASSERT_TRUE(command.shows("[0] ready") && command.shows("[1] ready"));
  command.send(SIGTERM);
  EXPECT_EQ(command.wait(4'000), 128 + SIGTERM);
  EXPECT_TRUE(command.leaves_nothing());
}

TEST(Run, TheTimeoutEndsTheJob) {
  Command command(script(2, "exec sleep 300", {"--timeout", "0.2"}));
  EXPECT_EQ(command.wait(4'000), 124);
  EXPECT_EQ(command.error, "wia run: the timeout of 0.2 s has passed; ending all ranks\n");
  EXPECT_TRUE(command.leaves_nothing());
}

TEST(Run, WhatARankLeavesBehindIsEnded) {
  Command command(script(2, "sleep 300 & echo started"));
  EXPECT_EQ(command.wait(), 0);
  EXPECT_TRUE(command.leaves_nothing());
}

TEST(Run, AKilledLauncherTakesEverythingAlong) {
  Command command(script(3, "sleep 300 & echo ready; sleep 300; echo end"));
  for (const char* line : {"[0] ready", "[1] ready", "[2] ready"}) ASSERT_TRUE(command.shows(line));
  command.send(SIGKILL);
  EXPECT_TRUE(command.leaves_nothing());
  EXPECT_EQ(command.wait(), 128 + SIGKILL);
}

TEST(Run, WhenTheReaderIsGoneTheRanksSeeIt) {
  Command command(script(2, "while echo something; do :; done"));
  ASSERT_TRUE(command.shows("[0] something") && command.shows("[1] something"));
  command.close_output();
  EXPECT_EQ(command.wait(), 128 + SIGPIPE);
  EXPECT_THAT(command.error, HasSubstr("(SIGPIPE)"));
  EXPECT_TRUE(command.leaves_nothing());
}

TEST(Run, AReaderThatSleepsDoesNotKeepTheLauncherFromEnding) {
  Command command(script(2, "while echo something; do :; done"));
  ASSERT_TRUE(command.shows("something"));
  // Nothing is read from here on, until the job is over.
  command.send(SIGTERM);
  EXPECT_TRUE(command.leaves_nothing());
  EXPECT_EQ(command.wait(), 128 + SIGTERM);
}

TEST(Run, BindsToTheAllowedCpusInTurn) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cpus;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(static_cast<int>(cpu));
  Command command(script(5, "grep Cpus_allowed_list /proc/self/status", {"--bind", "core"}));
  EXPECT_EQ(command.wait(), 0);
  for (size_t rank = 0; rank < 5; ++rank)
    EXPECT_THAT(command.output,
                HasSubstr(fmt::format("[{}] Cpus_allowed_list:\t{}\n", rank, cpus[rank % cpus.size()])));
}

struct Usage {
  std::vector<std::string> arguments;
  const char* names;
};
void PrintTo(const Usage& usage, std::ostream* out) { *out << testing::PrintToString(usage.arguments); }

class UsageTest : public testing::TestWithParam<Usage> {};

TEST_P(UsageTest, IsOneLineThatNamesTheCulprit) {
  Command command(GetParam().arguments);
  EXPECT_EQ(command.wait(), 2);
  EXPECT_EQ(command.output, "");
  EXPECT_EQ(std::count(command.error.begin(), command.error.end(), '\n'), 1) << command.error;
  EXPECT_THAT(command.error, StartsWith("wia"));
  EXPECT_THAT(command.error, HasSubstr(GetParam().names));
}

INSTANTIATE_TEST_SUITE_P(
    Errors, UsageTest,
    testing::Values(Usage{{}, "a command is missing"}, Usage{{"frob"}, "frob"}, Usage{{"--frob"}, "--frob"},
                    Usage{{"run"}, "--ranks"}, Usage{{"run", "-n"}, "--ranks"},
                    Usage{{"run", "-n", "0", "--", "true"}, "Value 0"},
                    Usage{{"run", "-n", "-1", "--", "true"}, "Value -1"},
                    Usage{{"run", "-n", "two", "--", "true"}, "two"},
                    Usage{{"run", "-n", "2"}, "program is missing"},
                    Usage{{"run", "-n", "2", "--"}, "program is missing"},
                    Usage{{"run", "-n", "2", "./program"},
                          "./program: not an option; the program follows after --"},
                    Usage{{"run", "-n", "2", "--frob", "--", "true"}, "--frob"},
                    Usage{{"run", "-n", "2", "--bind", "cpu", "--", "true"}, "--bind"},
                    Usage{{"run", "-n", "2", "--timeout", "1h", "--", "true"}, "--timeout: \"1h\""}));

TEST(Wia, HelpAndVersion) {
  Command version({"--version"});
  EXPECT_EQ(version.wait(), 0);
  EXPECT_THAT(version.output, testing::MatchesRegex("wia [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  Command help({"--help"});
  EXPECT_EQ(help.wait(), 0);
  EXPECT_THAT(help.output, HasSubstr("run"));
  Command of_run({"run", "--help"});
  EXPECT_EQ(of_run.wait(), 0);
  EXPECT_THAT(of_run.output, HasSubstr("--no-prefix"));
}

TEST(Wia, TheProgramsOwnDashesAreLeftToIt) {
  Command command({"run", "-n", "1", "--", "echo", "--help", "--", "-n"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_EQ(command.output, "[0] --help -- -n\n");
}

}  // namespace
}  // namespace wia
