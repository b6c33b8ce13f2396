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
