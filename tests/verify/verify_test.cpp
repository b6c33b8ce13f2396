#include "verify/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/examples.hpp"

namespace wia {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Proof> prove(std::vector<const Algorithm*> algorithms, std::vector<int> ranks, int threads = 1) {
  VerifyOptions options;
  options.ranks = std::move(ranks);
  options.threads = threads;
  return verify_all(algorithms, options);
}

// An algorithm as a parameter: a pointer would print as an address, another one in each run.
struct Tested {
  const Algorithm* algorithm;
};
std::string name_of(Tested tested) {
  return std::string(wia::name_of(tested.algorithm->collective)) + "_" + tested.algorithm->name;
}
void PrintTo(Tested tested, std::ostream* out) { *out << name_of(tested); }

class RightAlgorithm : public testing::TestWithParam<Tested> {};

TEST_P(RightAlgorithm, IsProven) {
  const std::vector<Proof> proofs = prove({GetParam().algorithm}, {1, 2, 3, 4, 5, 8, 9, 16});
  EXPECT_EQ(proofs[0].failure, "");
  EXPECT_THAT(proofs[0].proven, ElementsAre(1, 2, 3, 4, 5, 8, 9, 16));
  EXPECT_GT(proofs[0].cases, 8u);
  EXPECT_GT(proofs[0].runs, proofs[0].cases);
}

INSTANTIATE_TEST_SUITE_P(Verify, RightAlgorithm,
                         testing::Values(Tested{&examples::kFlatAllReduce}, Tested{&examples::kRingAllReduce},
                                         Tested{&examples::kFlatBroadcast},
                                         Tested{&examples::kDirectAllGather},
                                         Tested{&examples::kFlatBarrier}),
                         [](const auto& tested) { return name_of(tested.param); });

TEST(Verify, ProofsStandInTheOrderAskedForWithSeveralThreads) {
  size_t calls = 0;
  VerifyOptions options;
  options.ranks = {2, 3, 4};
  options.threads = 2;
  options.progress = [&](size_t done, size_t all, const Proof&) {
    EXPECT_EQ(done, ++calls);
    EXPECT_EQ(all, 6u);
  };
  const Algorithm* const algorithms[] = {&examples::kFlatBroadcast, &examples::kFlatBarrier};
  const std::vector<Proof> proofs = verify_all(algorithms, options);
  EXPECT_EQ(calls, 6u);
  EXPECT_EQ(proofs[0].algorithm, &examples::kFlatBroadcast);
  EXPECT_EQ(proofs[1].algorithm, &examples::kFlatBarrier);
  EXPECT_THAT(proofs[1].proven, ElementsAre(2, 3, 4));
}

TEST(Verify, WhatAnAlgorithmDoesNotOfferIsNotAFailure) {
  static constexpr Algorithm only_even{
      Collective::barrier, "only_even", "", true, false, [](const Shape& shape) -> Result<Schedule> {
        if (shape.ranks % 2) return Status::error(Code::unsupported, "an odd number of ranks");
        return examples::flat_barrier(shape);
      }};
  const std::vector<Proof> proofs = prove({&only_even}, {2, 3, 4});
  EXPECT_EQ(proofs[0].failure, "");
  EXPECT_THAT(proofs[0].proven, ElementsAre(2, 4));
  EXPECT_THAT(proofs[0].unsupported, ElementsAre(3));
}

// --- Wrong algorithms -------------------------------------------------------------------------

std::string failure_of(const Algorithm& algorithm, int ranks) {
  return prove({&algorithm}, {ranks})[0].failure;
}

TEST(VerifyFinds, AWrongChunk) {
  static constexpr Algorithm wrong{Collective::all_gather, "wrong", "", true, false, [](const Shape& shape) {
                                     Builder builder(shape);
                                     builder.copy(0, output(0), input(0), 1, input(0));
                                     for (int i = 1; i < shape.ranks; ++i) {
                                       const int peer = (shape.rank + i) % shape.ranks;
                                       builder.send(0, peer, input(0), 0);
                                       builder.recv(1, peer, output(examples::chunk(peer)), 0);
                                     }
                                     return std::move(builder).finish();
                                   }};
  EXPECT_THAT(failure_of(wrong, 2), HasSubstr("rank 1: element 0 of output part 1 was never written"));
}

TEST(VerifyFinds, AContributionThatIsMissing) {
  static constexpr Algorithm wrong{Collective::all_reduce, "wrong", "", true, false, [](const Shape& shape) {
                                     Builder builder(shape);
                                     builder.copy(0, output(0), input(0), 1, input(0));
                                     return std::move(builder).finish();
                                   }};
  EXPECT_THAT(failure_of(wrong, 2), HasSubstr("rank 0: element 0 of output part 0 is what rank 0 put in"));
}

TEST(VerifyFinds, AContributionThatCountsTwice) {
  static constexpr Algorithm wrong{Collective::all_reduce, "wrong", "", true, false, [](const Shape& shape) {
                                     Builder builder(shape);
                                     const Ref twice[] = {input(0), input(0)};
                                     builder.reduce(0, output(0), twice, output(0));
                                     return std::move(builder).finish();
                                   }};
  EXPECT_THAT(failure_of(wrong, 1), HasSubstr("counts rank 0 twice"));
}

TEST(VerifyFinds, AMessageThatNobodySends) {
  static constexpr Algorithm wrong{Collective::barrier, "wrong", "", true, false, [](const Shape& shape) {
                                     Builder builder(shape);
                                     if (shape.rank == 0) builder.recv(0, 1, output(0), 7, 0);
                                     return std::move(builder).finish();
                                   }};
  EXPECT_THAT(failure_of(wrong, 2), HasSubstr("message from rank 1 to rank 0 with tag 7 is not sent"));
}

TEST(VerifyFinds, AMessageThatNobodyReceives) {
  static constexpr Algorithm wrong{Collective::barrier, "wrong", "", true, false, [](const Shape& shape) {
                                     Builder builder(shape);
                                     if (shape.rank == 0) builder.send(0, 1, input(0), 7, 0);
                                     return std::move(builder).finish();
                                   }};
  EXPECT_THAT(failure_of(wrong, 2), HasSubstr("message from rank 0 to rank 1 with tag 7 is not received"));
}

TEST(VerifyFinds, ACircleOfRanksThatWaitForOneAnother) {
  static constexpr Algorithm wrong{Collective::barrier, "wrong", "", true, false, [](const Shape& shape) {
                                     Builder builder(shape);
                                     builder.recv(0, examples::previous(shape), output(0), 0, 0);
                                     builder.send(0, examples::next(shape), input(0), 0, 0);
                                     return std::move(builder).finish();
                                   }};
  const std::string failure = failure_of(wrong, 3);
  EXPECT_THAT(failure, HasSubstr("deadlock"));
  EXPECT_THAT(failure, HasSubstr("rank 0 waits for 2: lane 0: slice 0/1 step 0/2"));
}

// Both send three messages before they receive one.
TEST(VerifyFinds, AScheduleThatNeedsMoreMessagesOnTheWayThanTransportsHold) {
  static constexpr Algorithm wrong{Collective::barrier, "wrong", "", true, false, [](const Shape& shape) {
                                     Builder builder(shape);
                                     for (int i = 0; i < 3; ++i)
                                       builder.send(0, 1 - shape.rank, input(0), i, 0);
                                     for (int i = 0; i < 3; ++i)
                                       builder.recv(0, 1 - shape.rank, output(0), i, 0);
                                     return std::move(builder).finish();
                                   }};
  const std::string failure = failure_of(wrong, 2);
  EXPECT_THAT(failure, HasSubstr("deadlock"));
  EXPECT_THAT(failure, HasSubstr("capacity 2"));
}

// The root may overwrite what it has sent before its peer has read it.
TEST(VerifyFinds, DataThatIsOverwrittenBeforeThePeerHasReadIt) {
  static constexpr Algorithm wrong{
      Collective::all_reduce, "wrong", "", true, false, [](const Shape& shape) -> Result<Schedule> {
        if (shape.ranks != 2) return Status::error(Code::unsupported, "two ranks");
        Builder builder(shape);
        const int peer = 1 - shape.rank;
        const Ref sum[] = {output(0), input(0)};
        if (!shape.in_place) builder.copy(0, output(0), input(0), 1, input(0));
        builder.send(0, peer, output(0), 0);  // without take()
        if (shape.in_place) {
          builder.recv_reduce(0, peer, output(0), input(0), 0, 1, output(0));
        } else {
          const uint32_t place = builder.allocate_scratch(1);
          builder.recv(0, peer, scratch(place), 0, 1, output(0));
          const Ref sources[] = {scratch(place), sum[1]};
          builder.reduce(0, output(0), sources, output(0));
        }
        return std::move(builder).finish();
      }};
  const std::string failure = failure_of(wrong, 2);
  EXPECT_THAT(failure, HasSubstr("direct"));
  EXPECT_THAT(failure, HasSubstr("rank 1: element 0 of output part 0 counts rank 1 twice"));
}

TEST(VerifyFinds, AResultThatLandsWhereItDoesNotBelong) {
  static constexpr Algorithm wrong{
      Collective::all_reduce, "wrong", "", true, false, [](const Shape& shape) -> Result<Schedule> {
        Builder builder(shape);
        const int peer = 1 - shape.rank;
        const uint32_t place = builder.allocate_scratch(1);
        if (shape.rank == 0) {
          builder.recv_reduce(0, peer, output(0), input(0), 0, 1, output(0));
          builder.send(0, peer, output(0), 0);
        } else {
          builder.send(0, peer, input(0), 0);
          builder.recv(0, peer, scratch(place), 0, 1, output(0));
          builder.copy(0, output(0), scratch(place), 1, output(0));
        }
        return std::move(builder).finish();
      }};
  EXPECT_THAT(failure_of(wrong, 2), HasSubstr("does not go to the same chunk there"));
}

TEST(VerifyFinds, APartialSumThatIsTakenForRaw) {
  static constexpr Algorithm wrong{
      Collective::reduce, "wrong", "", true, false, [](const Shape& shape) -> Result<Schedule> {
        Builder builder(shape);
        if (shape.is_root()) {
          builder.recv_reduce(0, 1 - shape.rank, output(0), input(0), 0, 1, output(0));
        } else {
          const uint32_t place = builder.allocate_scratch(1);
          const Ref sources[] = {input(0)};
          builder.reduce(0, partial(place), sources, input(0));
          builder.send(0, shape.root, partial(place), 0, 1, input(0));
        }
        return std::move(builder).finish();
      }};
  EXPECT_THAT(failure_of(wrong, 2), HasSubstr("is a partial sum on one end and raw on the other"));
}

// Of very many ranks only some messages are matched, those to the root among them.
TEST(VerifyFinds, APartialSumThatIsTakenForRawAmongVeryManyRanks) {
  static constexpr Algorithm wrong{
      Collective::reduce, "wrong", "", true, false, [](const Shape& shape) -> Result<Schedule> {
        Builder builder(shape);
        if (shape.is_root()) {
          builder.recv_reduce(0, 0, output(0), input(0), 0, 1, output(0));
        } else if (shape.rank == 0) {
          const Ref sources[] = {input(0)};
          const uint32_t place = builder.allocate_scratch(1);
          builder.reduce(0, partial(place), sources, input(0));
          builder.send(0, shape.root, partial(place), 0, 1, input(0));
        }
        return std::move(builder).finish();
      }};
  EXPECT_THAT(failure_of(wrong, 129), HasSubstr("is a partial sum on one end and raw on the other"));
}

// A sum that is rounded (here: divided) on its way.
TEST(VerifyFinds, AResultThatIsFinishedTooEarly) {
  static constexpr Algorithm wrong{
      Collective::reduce, "wrong", "", true, false, [](const Shape& shape) -> Result<Schedule> {
        Builder builder(shape);
        const int chain = (shape.rank - shape.root + shape.ranks) % shape.ranks;
        const bool last = chain == shape.ranks - 1;
        const int from = (shape.rank + 1) % shape.ranks, to = (shape.rank + shape.ranks - 1) % shape.ranks;
        const Ref sum = scratch(builder.allocate_scratch(1));
        if (last && chain > 0) {
          builder.send(0, to, input(0), 0);
        } else if (last) {
          builder.copy(0, output(0), input(0), 1, input(0));
        } else {
          builder.recv_reduce(0, from, chain == 0 ? output(0) : sum, input(0), 0, 1, input(0));
          if (chain > 0) builder.send(0, to, sum, 0, 1, input(0));
        }
        return std::move(builder).finish();
      }};
  EXPECT_EQ(failure_of(wrong, 2), "");
  EXPECT_THAT(failure_of(wrong, 3), HasSubstr("int32 avg"));
}

TEST(VerifyFinds, ABarrierThatSomeoneLeavesEarly) {
  static constexpr Algorithm wrong{Collective::barrier, "wrong", "", true, false, [](const Shape& shape) {
                                     Builder builder(shape);
                                     const int leader = 0;
                                     if (shape.rank != leader) {
                                       builder.send(0, leader, input(0), 0, 0);
                                       builder.recv(0, leader, output(0), 0, 0);
                                     }
                                     for (int r = 1; shape.rank == leader && r < shape.ranks; ++r) {
                                       builder.recv(0, r, output(0), 0, 0);
                                       builder.send(0, r, input(0), 0, 0);
                                     }
                                     return std::move(builder).finish();
                                   }};
  EXPECT_EQ(failure_of(wrong, 2), "");
  EXPECT_THAT(failure_of(wrong, 3), HasSubstr("a rank left the barrier before rank 2 came"));
}

TEST(VerifyFinds, RanksThatDisagreeAboutTheShape) {
  static constexpr Algorithm wrong{
      Collective::barrier, "wrong", "", true, false, [](const Shape& shape) -> Result<Schedule> {
        if (shape.rank == 1) return Status::error(Code::unsupported, "not rank 1");
        return examples::flat_barrier(shape);
      }};
  EXPECT_THAT(failure_of(wrong, 2), HasSubstr("some ranks refuse this shape"));
}

}  // namespace
}  // namespace wia
