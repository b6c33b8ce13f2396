// Field case S03: more than 2^31 bytes and more than 2^31 elements in one call.
#include <fstream>

#include "field/data.hpp"
#include "sanitizers.hpp"

namespace wia::field {
namespace {

constexpr size_t kTwoGi = size_t{1} << 31;
constexpr size_t kCount = kTwoGi + 4099;
constexpr size_t kGathered = (size_t{1} << 30) + 5;

unsigned char byte_of(int rank, size_t i) { return static_cast<unsigned char>(31 * i + 17U * rank); }

// Both ranks' buffers, staging and some air.
bool is_memory_enough() {
  std::ifstream meminfo("/proc/meminfo");
  std::string name, unit;
  for (size_t kib = 0; meminfo >> name >> kib && std::getline(meminfo, unit);)
    if (name == "MemAvailable:") return kib > (size_t{7} << 20);
  return false;
}

// Compares against a table of one period: 256 elements.
template <class Expected>
int check_bytes(const unsigned char* data, size_t count, const Expected& expected) {
  unsigned char period[256];
  for (size_t i = 0; i < 256; ++i) period[i] = expected(i);
  for (size_t at = 0; at < count; at += 256)
    WIA_CHECK(std::memcmp(data + at, period, std::min<size_t>(256, count - at)) == 0);
  return 0;
}

void fill(unsigned char* data, size_t count, int rank) {
  constexpr size_t kPiece = size_t{1} << 16;  // whole periods
  static unsigned char piece[kPiece];
  for (size_t i = 0; i < kPiece; ++i) piece[i] = byte_of(rank, i);
  for (size_t at = 0; at < count; at += kPiece) std::memcpy(data + at, piece, std::min(kPiece, count - at));
}

int check_all(bool shared) {
  wia_communicator_t* w = nullptr;
  WIA_RUN(start(&w, 120'000));
  const int me = wia_rank(w);
  Buffer<unsigned char> buffer(kCount, shared);
  unsigned char* const x = buffer.data();

  fill(x, kCount, me);
  WIA_OK(wia_all_reduce(x, x, kCount, WIA_UINT8, WIA_OP_SUM, w, nullptr));
  WIA_RUN(check_bytes(x, kCount, [](size_t i) { return static_cast<unsigned char>(62 * i + 17); }));
  WIA_CHECK(x[0] == 17 && x[1] == 79 && x[kTwoGi - 1] == 211 && x[kTwoGi] == 17 && x[kTwoGi + 1] == 79 &&
            x[kTwoGi + 4098] == 141);

  fill(x, kCount, me);
  WIA_OK(wia_broadcast_buffer(x, kCount, WIA_UINT8, 1, w, nullptr));
  WIA_RUN(check_bytes(x, kCount, [](size_t i) { return byte_of(1, i); }));

  fill(x + static_cast<size_t>(me) * kGathered, kGathered, me);
  WIA_OK(wia_all_gather(x + static_cast<size_t>(me) * kGathered, x, kGathered, WIA_UINT8, w, nullptr));
  for (int r = 0; r < 2; ++r)
    WIA_RUN(check_bytes(x + static_cast<size_t>(r) * kGathered, kGathered,
                        [r](size_t i) { return byte_of(r, i); }));

  if (me == 0) {
    fill(x, kCount, 5);
    WIA_OK(wia_send(x, kCount, WIA_UINT8, 1, 0, w, nullptr));
  } else {
    WIA_OK(wia_recv(x, kCount, WIA_UINT8, 0, 0, w, nullptr));
    WIA_RUN(check_bytes(x, kCount, [](size_t i) { return byte_of(5, i); }));
  }
  WIA_CHECK(buffer.intact());
  return 0;
}

class S03 : public testing::TestWithParam<bool> {};

TEST_P(S03, MoreThanTwoToThe31) {
  if (kMemoryIsWatched) GTEST_SKIP() << "sanitizers make it minutes and multiply its memory";
  if (!is_memory_enough()) GTEST_SKIP() << "needs 7 GiB of free memory";
  const bool shared = GetParam();
  expect_good(run_ranks(
      2, [shared](int) { return check_all(shared); }, 240));
}

INSTANTIATE_TEST_SUITE_P(Field, S03, testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "shared" : "ordinary"; });

}  // namespace
}  // namespace wia::field
