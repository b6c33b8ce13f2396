// Field cases S01, S02, S04, S05, S06, S12: right values, on every rank, of every algorithm.
#include <gtest/gtest.h>

#include <cstring>

#include "algorithms/algorithm.hpp"
#include "field/ranks.hpp"

namespace wia::field {
namespace {

// Int64 data with 64 guard bytes on both sides, ordinary or from wia_alloc.
class Buffer {
 public:
  Buffer(size_t count, bool shared) : count_(count), shared_(shared) {
    memory_ = static_cast<int64_t*>(shared ? wia_alloc((count + 16) * 8) : std::malloc((count + 16) * 8));
    for (size_t i = 0; i < count + 16; ++i) memory_[i] = kGuard;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { shared_ ? wia_free(memory_) : std::free(memory_); }
  int64_t* data() { return memory_ + 8; }
  bool intact() const {
    for (size_t i = 0; i < 8; ++i)
      if (memory_[i] != kGuard || memory_[8 + count_ + i] != kGuard) return false;
    return true;
  }

 private:
  static constexpr int64_t kGuard = 0x5a5a5a5a5a5a5a5a;
  int64_t* memory_;
  size_t count_;
  bool shared_;
};

constexpr auto kType = WIA_INT64;

int check_all_reduce(wia_communicator_t* w, size_t n, bool shared) {
  const int ranks = wia_size(w), me = wia_rank(w);
  Buffer in(n, shared), out(n, shared);
  for (size_t i = 0; i < n; ++i) in.data()[i] = value(me, i);
  WIA_CHECK(wia_all_reduce(in.data(), out.data(), n, kType, WIA_OP_SUM, w, nullptr) == WIA_SUCCESS);
  for (size_t i = 0; i < n; ++i) WIA_CHECK(out.data()[i] == sum(ranks, i) && in.data()[i] == value(me, i));
  WIA_CHECK(wia_all_reduce(in.data(), in.data(), n, kType, WIA_OP_SUM, w, nullptr) == WIA_SUCCESS);
  for (size_t i = 0; i < n; ++i) WIA_CHECK(in.data()[i] == sum(ranks, i));
  WIA_CHECK(in.intact() && out.intact());
  return 0;
}

int check_rooted(wia_communicator_t* w, Collective collective, size_t n, int root, bool shared) {
  const int ranks = wia_size(w), me = wia_rank(w);
  const auto p = static_cast<size_t>(ranks);
  Buffer in(n * p, shared), out(n * p, shared);
  for (size_t i = 0; i < n * p; ++i) in.data()[i] = value(me, i);
  switch (collective) {
    case Collective::broadcast:
      WIA_CHECK(wia_broadcast_buffer(in.data(), n, kType, root, w, nullptr) == WIA_SUCCESS);
      for (size_t i = 0; i < n; ++i) WIA_CHECK(in.data()[i] == value(root, i));
      break;
    case Collective::reduce:
      WIA_CHECK(wia_reduce(in.data(), out.data(), n, kType, WIA_OP_SUM, root, w, nullptr) == WIA_SUCCESS);
      for (size_t i = 0; i < n && me == root; ++i) WIA_CHECK(out.data()[i] == sum(ranks, i));
      break;
    case Collective::gather:
      WIA_CHECK(wia_gather(in.data(), out.data(), n, kType, root, w, nullptr) == WIA_SUCCESS);
      for (size_t i = 0; i < n * p && me == root; ++i)
        WIA_CHECK(out.data()[i] == value(static_cast<int>(i / n), i % n));
      break;
    default:
      WIA_CHECK(wia_scatter(in.data(), out.data(), n, kType, root, w, nullptr) == WIA_SUCCESS);
      for (size_t i = 0; i < n; ++i) WIA_CHECK(out.data()[i] == value(root, static_cast<size_t>(me) * n + i));
  }
  WIA_CHECK(in.intact() && out.intact());
  return 0;
}

int check_blocks(wia_communicator_t* w, Collective collective, size_t n, bool shared) {
  const int ranks = wia_size(w), me = wia_rank(w);
  const auto p = static_cast<size_t>(ranks), mine = static_cast<size_t>(me) * n;
  Buffer in(n * p, shared), out(n * p, shared);
  for (size_t i = 0; i < n * p; ++i) in.data()[i] = value(me, i);
  if (collective == Collective::all_gather) {
    WIA_CHECK(wia_all_gather(in.data(), out.data(), n, kType, w, nullptr) == WIA_SUCCESS);
    for (size_t i = 0; i < n * p; ++i) WIA_CHECK(out.data()[i] == value(static_cast<int>(i / n), i % n));
  } else if (collective == Collective::reduce_scatter) {
    WIA_CHECK(wia_reduce_scatter_block(in.data(), out.data(), n, kType, WIA_OP_SUM, w, nullptr) ==
              WIA_SUCCESS);
    for (size_t i = 0; i < n; ++i) WIA_CHECK(out.data()[i] == sum(ranks, mine + i));
  } else {
    WIA_CHECK(wia_all_to_all(in.data(), out.data(), n, kType, w, nullptr) == WIA_SUCCESS);
    for (size_t i = 0; i < n * p; ++i)
      WIA_CHECK(out.data()[i] == value(static_cast<int>(i / n), mine + i % n));
  }
  WIA_CHECK(in.intact() && out.intact());
  return 0;
}

int check_algorithm(wia_communicator_t* w, const Algorithm& algorithm) {
  const std::string collective(name_of(algorithm.collective));
  const auto ranks = static_cast<size_t>(wia_size(w));
  WIA_CHECK(wia_communicator_set_algorithm(w, collective.c_str(), algorithm.name) == WIA_SUCCESS);
  for (const bool shared : {false, true}) {
    for (const size_t n : {size_t{0}, size_t{1}, ranks - 1, ranks, ranks + 1, 2 * ranks + 1, size_t{1000},
                           size_t{8192}, size_t{24583}}) {
      int bad = 0;
      if (algorithm.collective == Collective::all_reduce)
        bad = check_all_reduce(w, n, shared);
      else if (has_root(algorithm.collective))
        for (int root = 0; root < wia_size(w); ++root)
          bad |= check_rooted(w, algorithm.collective, n, root, shared);
      else if (algorithm.collective == Collective::barrier)
        bad = wia_barrier(w) != WIA_SUCCESS;
      else
        bad = check_blocks(w, algorithm.collective, n, shared);
      if (bad) {
        std::fprintf(stderr, "in %s %s, %zu ranks, %zu elements, %s memory\n", collective.c_str(),
                     algorithm.name, ranks, n, shared ? "shared" : "ordinary");
        return 1;
      }
    }
  }
  WIA_CHECK(wia_communicator_set_algorithm(w, collective.c_str(), "auto") == WIA_SUCCESS);
  return 0;
}

class S02 : public testing::TestWithParam<int> {};

TEST_P(S02, EveryAlgorithmEveryRootOddCounts) {
  const Outcome outcome = run_ranks(
      GetParam(),
      [](int) {
        wia_communicator_t* w = nullptr;
        WIA_CHECK(wia_init(&w) == WIA_SUCCESS);
        for (const Algorithm& algorithm : all_algorithms())
          if (check_algorithm(w, algorithm)) return 1;
        return 0;
      },
      120);
  EXPECT_EQ(outcome, Outcome(outcome.size(), 0));
}

INSTANTIATE_TEST_SUITE_P(Field, S02, testing::Values(1, 2, 3, 5, 6, 7));

TEST(Field, S01ZeroLengths) {
  EXPECT_EQ(
      run_ranks(3,
                [](int me) {
                  wia_communicator_t* w = nullptr;
                  WIA_CHECK(wia_init(&w) == WIA_SUCCESS);
                  WIA_CHECK(wia_all_reduce(nullptr, nullptr, 0, kType, WIA_OP_SUM, w, nullptr) ==
                            WIA_SUCCESS);
                  // Only the pair 0 -> 2 has data.
                  const size_t to2[] = {0, 0, 3}, none[] = {0, 0, 0}, from0[] = {3, 0, 0};
                  const int64_t in[] = {7, 8, 9};
                  int64_t out[] = {-1, -1, -1};
                  WIA_CHECK(wia_all_to_all_v(in, me == 0 ? to2 : none, nullptr, out, me == 2 ? from0 : none,
                                             nullptr, kType, w, nullptr) == WIA_SUCCESS);
                  for (int i = 0; i < 3; ++i) WIA_CHECK(out[i] == (me == 2 ? 7 + i : -1));
                  // Rank 1 gives nothing.
                  const size_t counts[] = {2, 0, 1};
                  int64_t all[] = {-1, -1, -1};
                  WIA_CHECK(wia_all_gather_v(in, all, counts, nullptr, kType, w, nullptr) == WIA_SUCCESS);
                  WIA_CHECK(all[0] == 7 && all[1] == 8 && all[2] == 7);
                  return check_all_reduce(w, 5, false);
                }),
      (Outcome{0, 0, 0}));
}

uint16_t bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>(bits >> 16);
}

TEST(Field, S05BfloatSumsRoundOnce) {
  const Outcome outcome = run_ranks(8, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_CHECK(wia_init(&w) == WIA_SUCCESS);
    for (const Algorithm* algorithm : algorithms_of(Collective::all_reduce)) {
      WIA_CHECK(wia_communicator_set_algorithm(w, "all_reduce", algorithm->name) == WIA_SUCCESS);
      for (const size_t n : {1, 1000, 100'000}) {
        for (int holder = 0; holder < 8; holder += 3) {
          std::vector<uint16_t> x(n, bf16(me == holder ? 256.0F : 1.0F));
          WIA_CHECK(wia_all_reduce(x.data(), x.data(), n, WIA_BFLOAT16, WIA_OP_SUM, w, nullptr) ==
                    WIA_SUCCESS);
          for (const uint16_t y : x) WIA_CHECK(y == bf16(264.0F));
        }
        std::vector<uint16_t> x(n, 0x3dcd);  // 0.1 rounded
        WIA_CHECK(wia_all_reduce(x.data(), x.data(), n, WIA_BFLOAT16, WIA_OP_SUM, w, nullptr) == WIA_SUCCESS);
        for (const uint16_t y : x) WIA_CHECK(y == bf16(0.80078125F));
      }
    }
    return 0;
  });
  EXPECT_EQ(outcome, Outcome(8, 0));
}

TEST(Field, S06Averages) {
  EXPECT_EQ(
      run_ranks(2,
                [](int me) {
                  wia_communicator_t* w = nullptr;
                  WIA_CHECK(wia_init(&w) == WIA_SUCCESS);
                  int32_t x[] = {3 + me, -3 - me, 2147483647};
                  WIA_CHECK(wia_all_reduce(x, x, 3, WIA_INT32, WIA_OP_AVG, w, nullptr) == WIA_SUCCESS);
                  WIA_CHECK(x[0] == 3 && x[1] == -3 && x[2] == 2147483647);
                  uint16_t h = 0x78e2;  // 40000 as float16 (rounded to 40000)
                  WIA_CHECK(wia_all_reduce(&h, &h, 1, WIA_FLOAT16, WIA_OP_AVG, w, nullptr) == WIA_SUCCESS &&
                            h == 0x78e2);
                  uint8_t u = me ? 100 : 200;
                  WIA_CHECK(wia_all_reduce(&u, &u, 1, WIA_UINT8, WIA_OP_SUM, w, nullptr) == WIA_SUCCESS &&
                            u == 44);
                  float f = 1;
                  WIA_CHECK(wia_all_reduce(&f, &f, 1, WIA_FLOAT32, WIA_OP_BAND, w, nullptr) ==
                            WIA_ERROR_UNSUPPORTED);
                  WIA_CHECK(std::strstr(wia_last_error_message(), "float32") &&
                            std::strstr(wia_last_error_message(), "band"));
                  return check_all_reduce(w, 3, false);
                }),
      (Outcome{0, 0}));
}

TEST(Field, S12PointToPoint) {
  EXPECT_EQ(
      run_ranks(2,
                [](int me) {
                  wia_communicator_t* w = nullptr;
                  WIA_CHECK(wia_init(&w) == WIA_SUCCESS);
                  const int other = 1 - me;
                  const size_t n = size_t{8} << 20;
                  std::vector<int64_t> out(n), in(n);
                  for (size_t i = 0; i < n; ++i) out[i] = value(me, i);
                  wia_request_t *s = nullptr, *r = nullptr;
                  WIA_CHECK(wia_send(out.data(), n, kType, other, 0, w, &s) == WIA_SUCCESS);
                  WIA_CHECK(wia_recv(in.data(), n, kType, other, 0, w, &r) == WIA_SUCCESS);
                  WIA_CHECK(wia_request_wait(s, -1) == WIA_SUCCESS && wia_request_wait(r, -1) == WIA_SUCCESS);
                  for (size_t i = 0; i < n; ++i) WIA_CHECK(in[i] == value(other, i));
                  // Tags 1, 2 sent, 2, 1 received; large enough not to travel with their headers.
                  if (me == 0) {
                    WIA_CHECK(wia_send(out.data(), 10'000, kType, 1, 1, w, &s) == WIA_SUCCESS);
                    WIA_CHECK(wia_send(out.data() + 1, 10'000, kType, 1, 2, w, &r) == WIA_SUCCESS);
                    WIA_CHECK(wia_request_wait(s, -1) == WIA_SUCCESS &&
                              wia_request_wait(r, -1) == WIA_SUCCESS);
                  } else {
                    WIA_CHECK(wia_recv(in.data(), 10'000, kType, 0, 2, w, nullptr) == WIA_SUCCESS &&
                              in[0] == value(0, 1));
                    WIA_CHECK(wia_recv(in.data(), 10'000, kType, 0, 1, w, nullptr) == WIA_SUCCESS &&
                              in[0] == value(0, 0));
                  }
                  for (size_t k = 0; k < 100; ++k) {  // alternating sizes
                    const size_t count = k % 2 ? 1 : 1 + k * 1300;
                    if (me == 0)
                      WIA_CHECK(wia_send(out.data() + k, count, kType, 1, 3, w, nullptr) == WIA_SUCCESS);
                    if (me == 1)
                      WIA_CHECK(wia_recv(in.data(), count, kType, 0, 3, w, nullptr) == WIA_SUCCESS &&
                                in[count - 1] == value(0, k + count - 1));
                  }
                  if (me == 0) WIA_CHECK(wia_send(out.data(), 4, kType, 1, 4, w, nullptr) == WIA_SUCCESS);
                  if (me == 1)
                    WIA_CHECK(wia_recv(in.data(), 3, kType, 0, 4, w, nullptr) == WIA_ERROR_TRUNCATED);
                  WIA_CHECK(wia_recv(in.data(), 1000, kType, me, 5, w, &r) == WIA_SUCCESS);
                  WIA_CHECK(wia_send(out.data(), 1000, kType, me, 5, w, nullptr) == WIA_SUCCESS);
                  WIA_CHECK(wia_request_wait(r, -1) == WIA_SUCCESS && in[999] == value(me, 999));
                  return check_all_reduce(w, 3, false);
                }),
      (Outcome{0, 0}));
}

}  // namespace
}  // namespace wia::field
