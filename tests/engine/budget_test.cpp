// What the hot path of a small collective costs: instructions of a step, allocations, system calls.
//
// Instructions are counted by callgrind, so the numbers depend on the compiler and not on how busy the
// machine is. docs/performance.md has the numbers and what they consist of.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "sanitizers.hpp"

namespace wia {
namespace {

const std::string kProgram = WIA_BINARY_DIR "/tests/engine/budget_program";

struct Outcome {
  int status = -1;
  std::string text;
  // The number behind a word.
  std::optional<double> number(const std::string& word) const {
    const size_t at = text.find(word);
    if (at == std::string::npos) return std::nullopt;
    return std::strtod(text.c_str() + at + word.size(), nullptr);
  }
};

Outcome run(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char part[256];
  while (pipe && std::fgets(part, sizeof part, pipe)) outcome.text += part;
  if (pipe) outcome.status = pclose(pipe);
  return outcome;
}

class Budget : public testing::TestWithParam<int> {};

TEST_P(Budget, NoAllocationsAndNoSystemCalls) {
  const Outcome outcome = run(kProgram + " " + std::to_string(GetParam()) + " 1000 sealed");
  if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 3) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.number("allocations "), 0) << outcome.text;
}

// All that an all-reduce of 8 bytes executes, over its steps: the call's start and end, the engine, the
// transport, and the reduction itself.
TEST_P(Budget, InstructionsOfAStep) {
  if (kMemoryIsWatched) GTEST_SKIP() << "valgrind does not run programs with sanitizers";
#ifndef NDEBUG
  GTEST_SKIP() << "counted in optimised builds only";
#endif
  if (run("valgrind --version").status != 0) GTEST_SKIP() << "valgrind is not installed";
  const std::string command = "valgrind --tool=callgrind --callgrind-out-file=/dev/null " + kProgram + " " +
                              std::to_string(GetParam());
  const Outcome some = run(command + " 1000"), more = run(command + " 3000");
  const auto first = some.number("Collected : "), second = more.number("Collected : "),
             steps = some.number("steps ");
  ASSERT_TRUE(first && second && steps) << some.text << more.text;
  const double each = (*second - *first) / 2000 / *steps;
  RecordProperty("instructions_of_a_step", std::to_string(each));
  std::printf("%d ranks: %.0f instructions a step, %.0f steps\n", GetParam(), each, *steps);
  const double ceiling = GetParam() == 2   ? 550
                         : GetParam() == 4 ? 350
                                           : 270;  // a fifth above what was counted
  EXPECT_LT(each, ceiling);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Budget, testing::Values(2, 4, 8));

}  // namespace
}  // namespace wia
