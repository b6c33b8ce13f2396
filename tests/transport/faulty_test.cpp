// What a peer that is cut off, or memory that is scarce, looks like over every transport.
#include "transport/transports.hpp"

namespace wia {
namespace {

class Cut : public RanksTest {
 protected:
  void make(int ranks) {
    auto group = std::make_unique<FaultyTransportGroup>(GetParam().make(ranks), ranks, Faults{});
    faulty_ = group.get();
    use(std::move(group), ranks);
  }
  FaultyEndpoint& at(int rank) { return faulty_->at(rank); }

  FaultyTransportGroup* faulty_ = nullptr;
};

TEST_P(Cut, NothingGoesInOrOutAndTheOthersAreFree) {
  make(3);
  ASSERT_TRUE(eventually([&] { return send(at(0), {1, 2}, {1, 0, 0}, "before"); }));
  ASSERT_TRUE(eventually([&] { return send(at(1), {0}, {1, 0, 0}, "before"); }));
  ASSERT_TRUE(eventually([&] { return receive(at(1), 0, {1, 0, 0}) == "before"; }));
  at(0).cut(1);
  EXPECT_FALSE(at(0).can_post(1));
  EXPECT_FALSE(send(at(0), {2, 1}, {1, 0, 1}, "both or none"));
  EXPECT_FALSE(at(0).push(1, 1, "", 0, nullptr, 0));
  EXPECT_EQ(receive(at(0), 1, {1, 0, 0}), "nothing");
  EXPECT_EQ(at(0).entered(1), Endpoint::Entered::no);
  EXPECT_TRUE(eventually([&] { return receive(at(2), 0, {1, 0, 0}) == "before"; }));
  EXPECT_TRUE(eventually([&] { return send(at(0), {2}, {1, 0, 1}, "after"); }));
  EXPECT_TRUE(eventually([&] { return receive(at(2), 0, {1, 0, 1}) == "after"; }));
}

TEST_P(Cut, IsTroubleForWhoNeedsThePeer) {
  make(3);
  at(0).cut(1);
  EXPECT_FALSE(at(0).check(false, {}).has_value());
  EXPECT_FALSE(at(0).check(false, std::vector{2}).has_value());
  for (const auto& trouble : {at(0).check(true, {}), at(0).check(false, std::vector{1})}) {
    ASSERT_TRUE(trouble.has_value());
    EXPECT_EQ(trouble->kind, Trouble::dead);
    EXPECT_EQ(trouble->peer, 1);
  }
}

TEST_P(Cut, ScarceStagingIsNotNow) {
  make(2);
  at(0).limit_staging(100);
  EXPECT_TRUE(eventually([&] { return send(at(0), {1}, {1, 0, 0}, "short"); }));
  EXPECT_FALSE(send(at(0), {1}, {1, 0, 1}, kLong));
}

INSTANTIATE_TEST_SUITE_P(All, Cut, testing::ValuesIn(transports()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace wia
