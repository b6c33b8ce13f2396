// The worked example of docs/add-an-algorithm.md.
#include <gtest/gtest.h>

#include "algorithms/phases.hpp"
#include "symbolic.hpp"

namespace wia {
namespace {

// star: everyone sends to rank 0, who adds up and sends the sum to all.
Result<Schedule> star_all_reduce(const Shape& shape) {
  constexpr int kSum = 0, kResult = 1;  // tags
  Builder builder(shape);
  if (shape.rank != 0) {
    builder.send(0, 0, input(0), kSum);
    builder.recv(1, 0, output(0), kResult);
    return std::move(builder).finish();
  }
  std::vector<Ref> sources = {input(0)};
  for (int peer = 1; peer < shape.ranks; ++peer) {
    sources.push_back(scratch(builder.allocate_scratch(1)));
    builder.recv(0, peer, sources.back(), kSum, 1, input(0));
  }
  builder.reduce(0, output(0), sources, output(0));
  for (int peer = 1; peer < shape.ranks; ++peer) builder.send(0, peer, output(0), kResult);
  return std::move(builder).finish();
}

TEST(Example, IsRight) {
  Shape shape;
  for (shape.ranks = 1; shape.ranks <= 9; ++shape.ranks) {
    for (const bool in_place : {false, true}) {
      shape.in_place = in_place;
      symbolic::Options options;
      options.rank_order = true;
      EXPECT_EQ(symbolic::Run(star_all_reduce, shape, options).error(), "");
    }
  }
}

TEST(Example, LooksAsInTheDocumentation) {
  Shape shape;
  shape.ranks = 3;
  EXPECT_EQ(star_all_reduce(shape)->text(),
            "lane 0: recv scratch[0] <- rank 1  tag 0  sized input[0]  view\n"
            "lane 0: recv scratch[1] <- rank 2  tag 0  sized input[0]  view\n"
            "lane 0: reduce output[0] <- input[0], scratch[0], scratch[1]  and 2 sends\n"
            "lane 0: send output[0] -> rank 1  tag 1  joined\n"
            "lane 0: send output[0] -> rank 2  tag 1  joined\n");
}

}  // namespace
}  // namespace wia
