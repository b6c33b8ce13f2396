// Field case S05: sums of bfloat16 are accumulated in float32 and rounded once, in every algorithm.
#include "field/collectives.hpp"

namespace wia::field {
namespace {

uint16_t bfloat16(float x) {  // exact values only
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>(bits >> 16);
}
constexpr uint16_t kTenth = 0x3dcd;  // 0.1 rounded

// All elements of the sum are `wanted`, where this rank gives `mine` everywhere.
int check_sums(wia_communicator_t* w, Collective collective, size_t count, uint16_t mine, uint16_t wanted) {
  const bool scatters = collective == Collective::reduce_scatter;
  Buffer<uint16_t> in(scatters ? count * 8 : count), out(count);
  for (size_t i = 0; i < (scatters ? count * 8 : count); ++i) in.set(i, mine);
  if (scatters)
    WIA_OK(wia_reduce_scatter_block(in.data(), out.data(), count, WIA_BFLOAT16, WIA_OP_SUM, w, nullptr));
  else
    WIA_OK(wia_all_reduce(in.data(), out.data(), count, WIA_BFLOAT16, WIA_OP_SUM, w, nullptr));
  for (size_t i = 0; i < count; ++i) WIA_CHECK(out.get(i) == wanted);
  WIA_CHECK(in.intact() && out.intact());
  return 0;
}

int check_counts(wia_communicator_t* w, Collective collective, std::initializer_list<size_t> counts) {
  for (const size_t count : counts) {
    for (int holder = 0; holder < 8; ++holder)
      WIA_RUN(check_sums(w, collective, count, bfloat16(wia_rank(w) == holder ? 256.0F : 1.0F),
                         bfloat16(264.0F)));
    WIA_RUN(check_sums(w, collective, count, kTenth, bfloat16(0.80078125F)));
  }
  return 0;
}

TEST(S05, BfloatSumsRoundOnce) {
  expect_good(run_ranks(
      8,
      [](int) {
        wia_communicator_t* w = nullptr;
        WIA_RUN(start(&w, 60'000));
        for (const auto collective : {Collective::all_reduce, Collective::reduce_scatter}) {
          for (const Algorithm* algorithm : algorithms_of(collective)) {
            WIA_RUN(use(w, *algorithm));
            if (check_counts(w, collective, {1, 1000})) {
              std::fprintf(stderr, "with algorithm %s\n", algorithm->name);
              return 1;
            }
          }
          WIA_OK(wia_communicator_set_algorithm(w, std::string(name_of(collective)).c_str(), "auto"));
          const size_t large = collective == Collective::all_reduce ? 1'000'000 : 125'000;
          WIA_RUN(
              check_sums(w, collective, large, bfloat16(wia_rank(w) == 5 ? 256.0F : 1.0F), bfloat16(264.0F)));
          WIA_RUN(check_sums(w, collective, large, kTenth, bfloat16(0.80078125F)));
        }
        return 0;
      },
      60));
}

}  // namespace
}  // namespace wia::field
