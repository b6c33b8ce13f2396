// What libfabric's wire has beside what holds for every network (network_test.cpp).
#include "transport/ofi_nics.hpp"
#include "transport/ofi_port.hpp"
#include "transport/transports.hpp"

namespace wia {
namespace {

constexpr auto kOneRail = [](int, int nics) { return rails_of(nics, 0, 1); };

std::unique_ptr<OfiWire> open_wire() {
  return std::move(make_ofi_wire({{parse_address("127.0.0.1").value()}, false}).value());
}

// A rank of another communicator that has found out where the endpoint is.
TEST(Ofi, AMessageOfAnotherJobNeverEnters) {
  const uint64_t ours = next_communicator(), theirs = next_communicator();
  auto own = open_wire(), peer = open_wire(), stranger = open_wire();
  const std::vector<std::string> names = {own->name(), peer->name()};
  const std::vector<std::string> wrong_names = {own->name(), stranger->name()};
  const auto endpoint = [](int rank, std::unique_ptr<Wire> wire) {
    auto made = std::make_unique<FrameEndpoint>(rank, 2, std::move(wire), 1 << 16);
    made->enter(call_number(1), {}, nullptr, 0);
    return made;
  };
  const auto their_first = make_loopback_wire(theirs, 0, 2);  // lets the stranger connect
  ASSERT_TRUE(own->meet(0, ours, names, kOneRail, make_loopback_wire(ours, 0, 2)).ok());
  ASSERT_TRUE(peer->meet(1, ours, names, kOneRail, make_loopback_wire(ours, 1, 2)).ok());
  ASSERT_TRUE(stranger->meet(1, theirs, wrong_names, kOneRail, make_loopback_wire(theirs, 1, 2)).ok());
  auto at0 = endpoint(0, std::move(own)), at1 = endpoint(1, std::move(peer)),
       strange = endpoint(1, std::move(stranger));

  const Deadline deadline = Deadline::after_ms(10'000);
  bool sent_wrongly = false, sent = false;
  std::string got = "nothing";
  while (!deadline.passed() && (got == "nothing" || !strange->drained())) {
    if (!sent_wrongly) sent_wrongly = send(*strange, {0}, {1, 0, 0}, "of another job");
    if (sent_wrongly && strange->drained() && !sent) sent = send(*at1, {0}, {1, 0, 1}, "ours");
    at1->drained();
    EXPECT_EQ(receive(*at0, 1, {1, 0, 0}), "nothing");
    if (got == "nothing") got = receive(*at0, 1, {1, 0, 1});
  }
  EXPECT_TRUE(sent_wrongly);
  EXPECT_EQ(got, "ours");
  EXPECT_EQ(receive(*at0, 1, {1, 0, 0}), "nothing");
}

TEST(Ofi, MemoryOfThePoolStaysRegisteredUpToALimit) {
  const OfiLibrary& library = *OfiLibrary::load().value();
  auto nics = find_ofi_nics(library, {{parse_address("127.0.0.1").value()}, false});
  ASSERT_TRUE(nics.ok());
  auto port = OfiPort::open(library, nics.value()->front());
  ASSERT_TRUE(port.ok());
  OfiMemoryCache& memory = port.value()->memory();
  MessagePool pool;
  const size_t before = memory.kept_bytes();
  const auto hold = [&](MessageBuffer* buffer) { return memory.hold(buffer->data(), 10, buffer).value(); };
  MessageBuffer* buffer = pool.take_buffer(1 << 20);
  OfiRegion* first = hold(buffer);
  EXPECT_EQ(hold(buffer), first);
  memory.let_go(first);
  memory.let_go(first);
  EXPECT_EQ(memory.kept_bytes() - before, size_t{1} << 20);
  memory.forget();
  EXPECT_EQ(memory.kept_bytes(), 0u);
  OfiRegion* in_use = hold(buffer);
  memory.forget();
  EXPECT_EQ(memory.kept_bytes(), size_t{1} << 20);
  memory.let_go(in_use);
  // Memory of others is registered for one message.
  std::byte own[100];
  memory.let_go(memory.hold(own, sizeof own, nullptr).value());
  EXPECT_EQ(memory.kept_bytes(), size_t{1} << 20);
}

TEST(Ofi, WhatIsMissingIsSaid) {
  const auto made = make_ofi_wire({{}, false});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::unsupported);
  EXPECT_NE(made.status().text().find("libfabric"), std::string::npos) << made.status().text();
}

}  // namespace
}  // namespace wia
