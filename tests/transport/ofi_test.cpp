// What libfabric's wire has beside what holds for every network (network_test.cpp).
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "transport/ofi_nics.hpp"
#include "transport/ofi_port.hpp"
#include "transport/transports.hpp"

namespace wia {
namespace {

constexpr auto kOneRail = [](int, int nics) { return rails_of(nics, 0, 1); };

std::unique_ptr<OfiWire> open_wire(uint64_t communicator) {
  return std::move(make_ofi_wire(ofi_over_loopback(), communicator).value());
}

// A rank of another communicator that has found out where the endpoint is.
TEST(Ofi, AMessageOfAnotherJobNeverEnters) {
  const uint64_t ours = next_communicator(), theirs = next_communicator();
  auto own = open_wire(ours), peer = open_wire(ours), stranger = open_wire(theirs);
  const std::vector<std::string> names = {own->name(), peer->name()};
  const std::vector<std::string> wrong_names = {own->name(), stranger->name()};
  const auto endpoint = [](int rank, std::unique_ptr<Wire> wire) {
    auto made = std::make_unique<FrameEndpoint>(rank, 2, std::move(wire), 1 << 16);
    made->enter(call_number(1), {}, nullptr, 0);
    return made;
  };
  const auto their_first = make_loopback_wire(theirs, 0, 2);  // lets the stranger connect
  own->meet(0, names, kOneRail, make_loopback_wire(ours, 0, 2));
  peer->meet(1, names, kOneRail, make_loopback_wire(ours, 1, 2));
  stranger->meet(1, wrong_names, kOneRail, make_loopback_wire(theirs, 1, 2));
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
  auto nics = find_ofi_nics(library, ofi_over_loopback());
  ASSERT_TRUE(nics.ok());
  fi_info* info = nics.value()->front().info.get();
  fid_fabric* fabric = nullptr;
  ASSERT_EQ(library.fabric(info->fabric_attr, &fabric, nullptr), 0);
  const Fid<fid_fabric> close_fabric(fabric);
  OfiDomain domain{library};
  ASSERT_EQ(fi_domain(fabric, info, &domain.domain, nullptr), 0);
  const Fid<fid_domain> close_domain(domain.domain);
  domain.mode = static_cast<uint64_t>(info->domain_attr->mr_mode);
  OfiMemoryCache memory(domain, 256 << 20);
  MessagePool pool;
  const auto hold = [&](MessageBuffer* buffer) { return memory.hold(buffer->data(), 10, buffer).value(); };
  MessageBuffer* buffer = pool.take_buffer(1 << 20);
  OfiRegion* first = hold(buffer);
  EXPECT_EQ(hold(buffer), first);
  memory.let_go(first);
  memory.let_go(first);
  EXPECT_EQ(memory.kept_bytes(), size_t{1} << 20);
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

// The two ranks of a communicator.
struct Pair {
  explicit Pair(const OfiOptions& options = ofi_over_loopback()) {
    auto wires = make_ofi_wires_by(options, 2);
    for (int r = 0; r < 2; ++r) {
      ranks.push_back(
          std::make_unique<FrameEndpoint>(r, 2, std::move(wires[static_cast<size_t>(r)]), 1 << 20));
      ranks.back()->enter(call_number(1), {}, nullptr, 0);
    }
  }
  FrameEndpoint& at(int rank) { return *ranks[static_cast<size_t>(rank)]; }
  bool send_soon(Key key, const std::string& text) {
    return eventually([&] { return send(at(0), {1}, key, text); });
  }
  bool arrives(Key key, const std::string& text) {
    return eventually([&] { return at(0).drained(), receive(at(1), 0, key) == text; });
  }
  template <class Condition>
  static bool eventually(const Condition& condition) {
    for (const Deadline deadline = Deadline::after_ms(20'000); !condition();)
      if (deadline.passed()) return false;
    return true;
  }
  std::vector<std::unique_ptr<FrameEndpoint>> ranks;
};

std::string text_of_size(size_t bytes, uint32_t tag) {
  std::string text(bytes, static_cast<char>('a' + tag % 26));
  text += std::to_string(tag);
  return text;
}

// Each in a thread of its own, which gets what another's has taken from the queue.
TEST(Ofi, CommunicatorsShareAnEndpointAndNoThread) {
  constexpr size_t kSizes[] = {1, 5'000, 30'000, 300'000};
  std::vector<Pair> pairs(4);
  std::vector<int> good(pairs.size());
  std::vector<std::thread> threads;
  for (size_t p = 0; p < pairs.size(); ++p)
    threads.emplace_back([&, p] {
      for (uint32_t tag = 0; tag < 100; ++tag) {
        const std::string text = text_of_size(kSizes[(tag + p) % 4], tag + static_cast<uint32_t>(p));
        if (pairs[p].send_soon({1, 0, tag}, text) && pairs[p].arrives({1, 0, tag}, text)) ++good[p];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(pairs.size(), 100));
  pairs.clear();
  EXPECT_TRUE(settle_ofi(Deadline::after_ms(10'000)));
}

TEST(Ofi, WhatWasOfferedBeforeLeavingCanBeRead) {
  Pair pair, other;
  ASSERT_TRUE(pair.send_soon({1, 0, 0}, "hello") && pair.arrives({1, 0, 0}, "hello"));
  for (uint32_t tag = 1; tag <= 8; ++tag)
    ASSERT_TRUE(pair.send_soon({1, 0, tag}, text_of_size(200'000, tag)));
  pair.ranks[0].reset();
  for (uint32_t tag = 1; tag <= 8; ++tag)
    EXPECT_TRUE(Pair::eventually([&] {
      return receive(pair.at(1), 0, {1, 0, tag}) == text_of_size(200'000, tag);
    }));
  ASSERT_TRUE(other.send_soon({1, 0, 0}, kLong) && other.arrives({1, 0, 0}, kLong));
  pair.ranks.clear();
  EXPECT_TRUE(settle_ofi(Deadline::after_ms(10'000)));
}

// Whatever was under way: its memory is the user's again, others go on, and nothing is left.
TEST(Ofi, NothingIsWrittenToAUserOnceHeHasLeft) {
  Pair other;
  for (uint32_t round = 0; round < 20; ++round) {
    Pair pair;
    ASSERT_TRUE(pair.send_soon({1, 0, 0}, "hello") && pair.arrives({1, 0, 0}, "hello"));
    const size_t bytes = 100'000 + 40'000 * (round % 10);
    std::vector<std::byte> place(bytes);
    for (uint32_t tag = 1; tag <= 3; ++tag) ASSERT_TRUE(pair.send_soon({1, 0, tag}, std::string(bytes, 'x')));
    Message message;
    for (uint32_t look = 0; look < round; ++look) {
      pair.at(0).drained();
      pair.at(1).find(0, {1, 0, 1}, &message, place);
    }
    pair.ranks[1].reset();
    std::fill(place.begin(), place.end(), std::byte{'?'});
    const std::string text = text_of_size(50'000, round);
    ASSERT_TRUE(other.send_soon({1, 0, round}, text) && other.arrives({1, 0, round}, text)) << round;
    EXPECT_EQ(std::count(place.begin(), place.end(), std::byte{'?'}), static_cast<ptrdiff_t>(bytes));
  }
  EXPECT_TRUE(settle_ofi(Deadline::after_ms(10'000)));
}

// Nobody rings, and the sleep is long: what comes has to end it.
TEST(Ofi, WhatComesWakesASleeper) {
  OfiOptions options = ofi_over_loopback();
  options.wake_sleepers = true;
  if (!ofi_wakes_sleepers(options)) GTEST_SKIP() << "this provider's queues have no descriptor";
  Pair pair(options);
  ASSERT_TRUE(pair.send_soon({1, 0, 0}, "hello") && pair.arrives({1, 0, 0}, "hello"));
  WaitPolicy policy = WaitPolicy::sleep_soon();
  policy.longest_sleep_ns = 999'000'000;
  policy.before_sleep = [](Doorbell& bell) {
    Network::existing()->arm(bell);
    arm_ofi(bell);
  };
  std::atomic<uint32_t> received{0};
  int looks_in_vain = 0;
  std::thread sleeper([&] {
    static Doorbell bell;  // the network knows it from now on
    for (uint32_t tag = 1; tag <= 20; ++tag) {
      Waiter waiter(policy, bell);
      if (!Pair::eventually([&] {
            if (receive(pair.at(1), 0, {1, 0, tag}) == kLong) return true;
            waiter.pause();
            return false;
          }))
        return;
      received = tag;
    }
    Waiter waiter(policy, bell);
    for (const Deadline deadline = Deadline::after_ms(300); !deadline.passed(); ++looks_in_vain) {
      receive(pair.at(1), 0, {1, 0, 999});
      waiter.pause();
    }
  });
  const int64_t began = now_ns();
  for (uint32_t tag = 1; tag <= 20; ++tag) {
    EXPECT_TRUE(Pair::eventually([&] { return received == tag - 1; }));
    usleep(2'000);  // it sleeps by now
    EXPECT_TRUE(pair.send_soon({1, 0, tag}, kLong));
  }
  sleeper.join();
  EXPECT_LT(now_ns() - began, 10'000'000'000) << "each slept to its end";
  EXPECT_LT(looks_in_vain, 50) << "it does not sleep";
}

TEST(Ofi, WhatIsMissingIsSaid) {
  const auto made = make_ofi_wire({}, 1);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::unsupported);
  EXPECT_NE(made.status().text().find("libfabric"), std::string::npos) << made.status().text();
}

}  // namespace
}  // namespace wia
