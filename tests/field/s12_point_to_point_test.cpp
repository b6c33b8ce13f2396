// Field case S12: messages between two ranks: both ways at once, to oneself, by tag, and too long ones.
#include "field/data.hpp"

namespace wia::field {
namespace {

constexpr auto kType = WIA_INT64;
constexpr size_t kLarge = size_t{8} << 20;  // 64 MB

int wait_both(wia_request_t* a, wia_request_t* b) {
  WIA_OK(wia_request_wait(a, -1));
  WIA_OK(wia_request_wait(b, -1));
  return 0;
}

class S12 : public testing::TestWithParam<std::tuple<bool, bool>> {};  // kinds of memory on either side

TEST_P(S12, BothWaysAtOnce) {
  const auto [sends_shared, receives_shared] = GetParam();
  expect_good(run_ranks(2, [=](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    Buffer<> out(kLarge, sends_shared), in(kLarge, receives_shared);
    out.fill(me);
    wia_request_t *s = nullptr, *r = nullptr;
    WIA_OK(wia_send(out.data(), kLarge, kType, 1 - me, 0, w, &s));
    WIA_OK(wia_recv(in.data(), kLarge, kType, 1 - me, 0, w, &r));
    WIA_RUN(wait_both(s, r));
    for (size_t i = 0; i < kLarge; ++i) WIA_CHECK(in.get(i) == value(1 - me, i));
    WIA_CHECK(in.intact() && out.intact());
    // To oneself, 8 bytes and 64 MB.
    for (const size_t count : {size_t{1}, kLarge}) {
      std::memset(in.data(), 0, count * 8);
      WIA_OK(wia_recv(in.data(), count, kType, me, 5, w, &r));
      WIA_OK(wia_send(out.data(), count, kType, me, 5, w, nullptr));
      WIA_OK(wia_request_wait(r, -1));
      for (size_t i = 0; i < count; ++i) WIA_CHECK(in.get(i) == value(me, i));
    }
    WIA_OK(wia_sendrecv(out.data(), 1000, me, in.data(), 1000, me, kType, 6, w));
    WIA_CHECK(in.intact() && out.intact());
    return check_sum(w);
  }));
}

INSTANTIATE_TEST_SUITE_P(Field, S12, testing::Combine(testing::Bool(), testing::Bool()));

TEST(S12Messages, BlockingSendsToEachOther) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 1000));
    Buffer<> out(kLarge), in(kLarge);
    const double began = seconds();
    const wia_status_t status = wia_send(out.data(), kLarge, kType, 1 - me, 0, w, nullptr);
    if (status == WIA_SUCCESS) {  // then the receives complete, too
      WIA_OK(wia_recv(in.data(), kLarge, kType, 1 - me, 0, w, nullptr));
      return 0;
    }
    WIA_CHECK(status == WIA_ERROR_TIMEOUT && seconds() - began < 1 + 5);
    WIA_CHECK(says("a send of 67108864 bytes to rank", "has posted no matching receive"));
    return 0;
  }));
}

TEST(S12Messages, TagsMatch) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (const size_t count : {size_t{1}, size_t{10'000}, size_t{300'000}}) {
      Buffer<> one(count), two(count);
      wia_request_t *a = nullptr, *b = nullptr;
      if (me == 0) {
        one.fill(11), two.fill(12);
        WIA_OK(wia_send(one.data(), count, kType, 1, 1, w, &a));
        WIA_OK(wia_send(two.data(), count, kType, 1, 2, w, &b));
        WIA_RUN(wait_both(a, b));
      } else {
        WIA_OK(wia_recv(two.data(), count, kType, 0, 2, w, nullptr));
        WIA_OK(wia_recv(one.data(), count, kType, 0, 1, w, nullptr));
        for (size_t i = 0; i < count; ++i)
          WIA_CHECK(one.get(i) == value(11, i) && two.get(i) == value(12, i));
      }
      WIA_CHECK(one.intact() && two.intact());
    }
    return check_sum(w);
  }));
}

TEST(S12Messages, FromAnyRank) {
  expect_good(run_ranks(4, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (const size_t count : {size_t{0}, size_t{1}, size_t{10'000}, size_t{300'000}}) {
      for (int receiver = 0; receiver < 4; ++receiver) {
        Buffer<> x(count);
        if (me != receiver) {
          x.fill(me);
          wia_request_t *a = nullptr, *b = nullptr;
          WIA_OK(wia_send(x.data(), count, kType, receiver, 7, w, &a));
          WIA_OK(wia_send(x.data(), count, kType, receiver, 8, w, &b));
          WIA_RUN(wait_both(a, b));
          continue;
        }
        int seen[4] = {};
        for (int i = 0; i < 6; ++i) {  // not in the order in which they are sent
          int from = -1;
          wia_request_t* r = nullptr;
          WIA_OK(wia_recv_any(x.data(), count, kType, &from, i < 3 ? 8 : 7, w, &r));
          WIA_OK(wia_request_wait(r, -1));
          WIA_CHECK(from >= 0 && from < 4 && from != me && ++seen[from] <= 2);
          for (size_t k = 0; k < count; ++k) WIA_CHECK(x.get(k) == value(from, k));
          WIA_CHECK(x.intact());
        }
      }
    }
    int from = -1;
    wia_request_t* r = nullptr;
    WIA_CHECK(wia_recv_any(nullptr, 0, kType, &from, -1, w, nullptr) == WIA_ERROR_INVALID_ARGUMENT);
    WIA_OK(wia_recv_any(nullptr, 0, kType, nullptr, 9, w, &r));  // from oneself
    WIA_OK(wia_send(nullptr, 0, kType, me, 9, w, nullptr));
    WIA_OK(wia_request_wait(r, -1));
    return check_sum(w);
  }));
}

// A message goes to the receive that was posted first, whether that names a rank or not.
TEST(S12Messages, FromAnyRankInTurn) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    if (me == 0) {
      int got[4] = {}, from[2] = {-1, -1};
      wia_request_t* r[4] = {};
      WIA_OK(wia_recv(&got[0], 1, WIA_INT32, 1, 0, w, &r[0]));
      WIA_OK(wia_recv_any(&got[1], 1, WIA_INT32, &from[0], 0, w, &r[1]));
      WIA_OK(wia_recv_any(&got[2], 1, WIA_INT32, &from[1], 0, w, &r[2]));
      WIA_OK(wia_recv(&got[3], 1, WIA_INT32, 1, 0, w, &r[3]));
      WIA_OK(wia_barrier(w));
      for (auto* request : r) WIA_OK(wia_request_wait(request, -1));
      for (int i = 0; i < 4; ++i) WIA_CHECK(got[i] == i + 1);
      WIA_CHECK(from[0] == 1 && from[1] == 1);
    } else {
      WIA_OK(wia_barrier(w));
      for (int i = 1; i <= 4; ++i) WIA_OK(wia_send(&i, 1, WIA_INT32, 0, 0, w, nullptr));
    }
    return check_sum(w);
  }));
}

// What ends a receive from any rank: its deadline, a rank that dies, and that the last of the others has
// left.
TEST(S12Messages, FromAnyRankInVain) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, me == 0 ? 1000 : 20'000));
    if (me == 1) WIA_CHECK(wia_barrier(w) == WIA_ERROR_TIMEOUT);
    if (me == 1) return 0;
    int x = 0, from = -1;
    WIA_CHECK(wia_recv_any(&x, 1, WIA_INT32, &from, 3, w, nullptr) == WIA_ERROR_TIMEOUT);
    WIA_CHECK(says("a receive of 4 bytes from any rank with tag 3 (no rank has sent anything"));
    return 0;
  }));
  const Results results = run_ranks(3, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 20'000));
    if (me == 2) raise(SIGKILL);
    int x = 0, from = -1;
    WIA_CHECK(wia_recv_any(&x, 1, WIA_INT32, &from, 0, w, nullptr) == WIA_ERROR_PEER_FAILED);
    WIA_CHECK(says("rank 2 (pid"));
    return 0;
  });
  EXPECT_EQ(results[0].code, 0) << results[0].text;
  EXPECT_EQ(results[1].code, 0) << results[1].text;
  if (over().network()) return;  // a rank that leaves before it is connected looks like one that is lost
  expect_good(run_ranks(3, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 20'000));
    int x = 0, from = -1;
    if (me == 0) {
      WIA_OK(wia_recv_any(&x, 1, WIA_INT32, &from, 0, w, nullptr));  // rank 2 has left or will: no matter
      WIA_CHECK(from == 1);
      WIA_CHECK(wia_recv_any(&x, 1, WIA_INT32, &from, 0, w, nullptr) == WIA_ERROR_PEER_FAILED);
      WIA_CHECK(says("it has left the communicator"));
      return 0;
    }
    if (me == 1) WIA_OK(wia_recv(&x, 1, WIA_INT32, 2, 0, w, nullptr));
    if (me == 1) usleep(100'000);  // rank 0 sees that rank 2 leaves
    WIA_OK(wia_send(&x, 1, WIA_INT32, me == 2 ? 1 : 0, 0, w, nullptr));
    WIA_OK(wia_communicator_destroy(w));
    return 0;
  }));
}

TEST(S12Messages, ManySizesInTurn) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (size_t k = 0; k < 100; ++k) {  // 1 byte to 1 MB, up and down
      const size_t step = k % 2 ? k : 99 - k, bytes = 1 + step * step * 107;
      Buffer<unsigned char> x(bytes);
      x.fill(0);
      if (k / 2 % 2 == static_cast<size_t>(me)) {
        WIA_OK(wia_send(x.data(), bytes, WIA_UINT8, 1 - me, 3, w, nullptr));
        continue;
      }
      Buffer<unsigned char> y(bytes);
      WIA_OK(wia_recv(y.data(), bytes, WIA_UINT8, 1 - me, 3, w, nullptr));
      WIA_CHECK(std::memcmp(x.data(), y.data(), bytes) == 0 && y.intact());
    }
    if (me == 0) WIA_OK(wia_send(nullptr, 0, kType, 1, 4, w, nullptr));
    if (me == 1) WIA_OK(wia_recv(nullptr, 0, kType, 0, 4, w, nullptr));
    return check_sum(w);
  }));
}

TEST(S12Messages, TooShortAReceiveBuffer) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (const bool shared : {false, true})
      for (const size_t bytes : {size_t{4}, size_t{4097}, size_t{1} << 20}) {
        Buffer<unsigned char> x(bytes, shared), y(bytes - 1, shared), longer(bytes + 1, shared);
        x.fill(7);
        if (me == 0) {
          WIA_OK(wia_send(x.data(), bytes, WIA_UINT8, 1, 4, w, nullptr));
          WIA_OK(wia_send(x.data(), bytes, WIA_UINT8, 1, 5, w, nullptr));
          continue;
        }
        WIA_CHECK(wia_recv(y.data(), bytes - 1, WIA_UINT8, 0, 4, w, nullptr) == WIA_ERROR_TRUNCATED);
        WIA_CHECK(says("rank 0", "tag 4", std::to_string(bytes).c_str(), std::to_string(bytes - 1).c_str()));
        WIA_CHECK(y.intact() && y.get(0) == 0x5a);  // nothing is written
        WIA_CHECK(wia_recv(longer.data(), bytes + 1, WIA_UINT8, 0, 5, w, nullptr) ==
                  WIA_ERROR_INVALID_ARGUMENT);
        WIA_CHECK(longer.intact());
      }
    return check_sum(w);
  }));
}

}  // namespace
}  // namespace wia::field
