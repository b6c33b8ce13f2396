// What holds for networks beside what holds for every transport (transport_test.cpp).
#include "transport/transports.hpp"

namespace wia {
namespace {

struct NetworkKind {
  std::string name;
  NetworkTransportGroup::MakeWires make_wires;
};

void PrintTo(const NetworkKind& kind, std::ostream* out) { *out << kind.name; }

std::vector<NetworkKind> kinds() {
  std::vector<NetworkKind> all = {{"tcp", make_tcp_wires}};
  if (describe_ofi()) all.push_back({"ofi", make_ofi_wires});
  return all;
}

class WireTest : public testing::TestWithParam<NetworkKind> {
 protected:
  void make(int ranks) {
    group_ = std::make_unique<NetworkTransportGroup>(ranks, ranks, GetParam().make_wires);
    for (int r = 0; r < ranks; ++r) at(r).enter(call_number(1), {}, nullptr, 0);
  }
  Endpoint& at(int rank) { return group_->at(rank); }
  template <class Condition>
  bool eventually(const Condition& condition) {
    for (const Deadline deadline = Deadline::after_ms(10'000); !condition();)
      if (deadline.passed()) return false;
    return true;
  }
  bool hello_arrives(Key key) {
    return eventually([&] { return at(0).drained(), receive(at(1), 0, key) == "hello"; }) &&
           eventually([&] { return at(0).drained(); });
  }

  std::unique_ptr<NetworkTransportGroup> group_;
};

TEST_P(WireTest, WhatWasSentBeforeLeavingArrives) {
  make(2);
  // The way there, so that nothing is left to be done by the one that leaves.
  ASSERT_TRUE(eventually([&] { return send(at(0), {1}, {1, 0, 999}, "hello"); }));
  ASSERT_TRUE(hello_arrives({1, 0, 999}));
  for (uint32_t tag = 0; tag < 20; ++tag)
    ASSERT_TRUE(eventually([&] { return send(at(0), {1}, {1, 0, tag}, kLong); }));
  ASSERT_TRUE(eventually([&] { return at(0).drained(); }));
  group_->leave(0);
  for (uint32_t tag = 0; tag < 20; ++tag)
    ASSERT_TRUE(eventually([&] { return receive(at(1), 0, {1, 0, tag}) == kLong; })) << tag;
  std::optional<Trouble> trouble;
  ASSERT_TRUE(eventually([&] { return (trouble = at(1).check(false, std::vector{0})).has_value(); }));
  EXPECT_EQ(trouble->kind, Trouble::left);
  EXPECT_EQ(trouble->peer, 0);
}

TEST_P(WireTest, ManyCommunicatorsComeAndGo) {
  for (int i = 0; i < 40; ++i) {
    make(2);
    ASSERT_TRUE(eventually([&] { return send(at(0), {1}, {1, 0, 0}, "hello"); }));
    ASSERT_TRUE(hello_arrives({1, 0, 0}));
  }
}

INSTANTIATE_TEST_SUITE_P(All, WireTest, testing::ValuesIn(kinds()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace wia
