// What the symbolic checker finds: an all_reduce in place, right and with one mistake each.
#include "symbolic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wia {
namespace {

using ::testing::HasSubstr;

enum class Mistake { none, not_taken, not_awaited, peer_left_out, wrong_order, wrong_format, one_lane };

// Everyone sends all to everyone, and adds up in the order of ranks over what it sent.
template <Mistake kMistake>
Result<Schedule> all_reduce(const Shape& shape) {
  Builder builder(shape);
  const int n = shape.ranks, receiving = kMistake == Mistake::one_lane ? 0 : 1;
  std::vector<Ref> sources(n);
  sources[shape.rank] = input(0);
  const auto send = [&](int peer) {
    builder.send(0, peer, input(0), 0);
    if (kMistake != Mistake::not_taken) builder.take(0);
  };
  const auto receive = [&](int peer) {
    const uint32_t area = builder.allocate_scratch(1);
    sources[peer] = kMistake == Mistake::wrong_format ? partial(area) : scratch(area);
    builder.recv(receiving, peer, sources[peer], 0, 1, input(0));
  };
  for (int i = 1; i < n; ++i) {
    if (kMistake == Mistake::one_lane) receive((shape.rank + n - i) % n);
    send((shape.rank + i) % n);
    if (kMistake != Mistake::one_lane) receive((shape.rank + n - i) % n);
  }
  if (kMistake != Mistake::not_awaited && receiving != 0) builder.wait(receiving, 0, builder.position(0));
  if (kMistake == Mistake::peer_left_out) sources.back() = sources.front();
  if (kMistake == Mistake::wrong_order) std::rotate(sources.begin(), sources.begin() + 1, sources.end());
  builder.reduce(receiving, output(0), sources, output(0));
  return std::move(builder).finish();
}

template <Mistake kMistake>
std::string found() {
  Shape shape;
  shape.ranks = 4;
  shape.in_place = true;
  symbolic::Options options;
  options.rank_order = true;
  return symbolic::Run(all_reduce<kMistake>, shape, options).error();
}

TEST(SymbolicChecker, FindsNothingWrong) { EXPECT_EQ(found<Mistake::none>(), ""); }

TEST(SymbolicChecker, FindsOverwrittenData) {
  EXPECT_THAT(found<Mistake::not_taken>(), HasSubstr("races"));
  EXPECT_THAT(found<Mistake::not_awaited>(), HasSubstr("races"));
}

TEST(SymbolicChecker, FindsWrongSums) {
  EXPECT_THAT(found<Mistake::peer_left_out>(), HasSubstr("is wrong"));
  EXPECT_THAT(found<Mistake::wrong_order>(), HasSubstr("another order of additions"));
}

TEST(SymbolicChecker, FindsWrongFormats) { EXPECT_THAT(found<Mistake::wrong_format>(), HasSubstr("format")); }

TEST(SymbolicChecker, FindsDeadlocks) { EXPECT_THAT(found<Mistake::one_lane>(), HasSubstr("deadlock")); }

}  // namespace
}  // namespace wia
