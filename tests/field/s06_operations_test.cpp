// Field case S06: averages, wrap-around, bool, and every pair of operation and type: right or refused.
#include <cmath>

#include "field/collectives.hpp"
#include "reduce/dtype.hpp"
#include "reduce/reducer.hpp"

namespace wia::field {
namespace {

template <class T>
int reduces_to(wia_communicator_t* w, wia_dtype_t dtype, wia_op_t op, T mine, T wanted) {
  Buffer<T> in(3), out(3);
  for (size_t i = 0; i < 3; ++i) in.set(i, mine);
  WIA_OK(wia_all_reduce(in.data(), out.data(), 3, dtype, op, w, nullptr));
  for (size_t i = 0; i < 3; ++i) WIA_CHECK(out.get(i) == wanted);
  WIA_CHECK(in.intact() && out.intact());
  return 0;
}

constexpr uint16_t kHalf40000 = 0x78e2, kHalf65504 = 0x7bff, kHalf65472 = 0x7bfe;

TEST(S06Values, TwoRanks) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (const Algorithm* algorithm : algorithms_of(Collective::all_reduce)) {
      WIA_RUN(use(w, *algorithm));
      WIA_RUN(reduces_to<int32_t>(w, WIA_INT32, WIA_OP_AVG, 3 + me, 3));
      WIA_RUN(reduces_to<int32_t>(w, WIA_INT32, WIA_OP_AVG, -3 - me, -3));
      WIA_RUN(reduces_to<int32_t>(w, WIA_INT32, WIA_OP_AVG, 2147483647, 2147483647));
      WIA_RUN(reduces_to<uint16_t>(w, WIA_FLOAT16, WIA_OP_AVG, kHalf40000, kHalf40000));
      WIA_RUN(reduces_to<uint8_t>(w, WIA_UINT8, WIA_OP_SUM, me ? 100 : 200, 44));
      WIA_RUN(reduces_to<int8_t>(w, WIA_INT8, WIA_OP_SUM, me ? 100 : 120, -36));
      WIA_RUN(reduces_to<uint8_t>(w, WIA_BOOL, WIA_OP_SUM, 1, 1));
      WIA_RUN(reduces_to<uint8_t>(w, WIA_BOOL, WIA_OP_BOR, me == 1, 1));
      WIA_RUN(reduces_to<uint8_t>(w, WIA_BOOL, WIA_OP_BAND, me == 1, 0));
      WIA_RUN(reduces_to<uint8_t>(w, WIA_BOOL, WIA_OP_LOR, me == 0, 1));
      WIA_RUN(reduces_to<uint8_t>(w, WIA_BOOL, WIA_OP_LAND, 1, 1));
    }
    return 0;
  }));
}

TEST(S06Values, AveragesOfThreeLargestHalves) {
  expect_good(run_ranks(3, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (const Algorithm* algorithm : algorithms_of(Collective::all_reduce)) {
      WIA_RUN(use(w, *algorithm));
      uint16_t x = kHalf65504;
      WIA_OK(wia_all_reduce(&x, &x, 1, WIA_FLOAT16, WIA_OP_AVG, w, nullptr));
      WIA_CHECK(x == kHalf65504 || x == kHalf65472);
    }
    return 0;
  }));
}

bool is_float(DType type) {
  return type == DType::float16 || type == DType::bfloat16 || type == DType::float32 ||
         type == DType::float64 || type == DType::float8_e4m3 || type == DType::float8_e5m2;
}

// As wia.h says.
bool is_supported(DType type, Op op) {
  const bool bits = op == Op::band || op == Op::bor || op == Op::bxor || op == Op::land || op == Op::lor;
  return !(bits && is_float(type)) && !(op == Op::avg && type == DType::boolean);
}

// The result where rank 0 gives `first` and all others 1; all values are small and exact in every type.
double wanted(Op op, DType type, int ranks, int first) {
  const int others = ranks - 1;
  const bool boolean = type == DType::boolean;
  switch (op) {
    case Op::sum:
      return boolean ? 1 : first + others;
    case Op::prod:
      return first;
    case Op::min:
      return first < 1 ? first : 1;
    case Op::max:
      return first > 1 ? first : 1;
    case Op::avg:
      return static_cast<double>(first + others) / ranks;
    case Op::band:
      return first & 1;
    case Op::bor:
      return first | 1;
    case Op::bxor:
      return first ^ (others & 1);
    case Op::land:
      return first != 0;
    default:
      return 1;
  }
}

int check_pair(wia_communicator_t* w, DType type, Op op) {
  const int ranks = wia_size(w), me = wia_rank(w);
  const auto dtype = static_cast<wia_dtype_t>(type);
  const auto operation = static_cast<wia_op_t>(op);
  // For avg a value whose average is whole.
  const int first = type == DType::boolean ? 0 : op == Op::avg ? 1 + ranks : op == Op::sum ? 0 : 2;
  unsigned char in[8] = {}, out[8 + 2] = {0x5a, 0, 0, 0, 0, 0, 0, 0, 0, 0x5a};
  from_double(type, me == 0 ? first : 1, in);
  const wia_status_t status = wia_all_reduce(in, out + 1, 1, dtype, operation, w, nullptr);
  if (!is_supported(type, op)) {
    WIA_CHECK(status == WIA_ERROR_UNSUPPORTED);
    WIA_CHECK(says(std::string(name_of(type)).c_str(), std::string(name_of(op)).c_str()));
    return 0;
  }
  WIA_CHECK(status == WIA_SUCCESS && out[0] == 0x5a && out[9] == 0x5a);
  const double got = to_double(type, out + 1), right = wanted(op, type, ranks, first);
  // Each contribution of a float average is divided by the number of ranks before they are added.
  const double rounding = op != Op::avg || !is_float(type) ? 0 : size_of(type) == 8 ? 1e-14 : 1e-6;
  if (std::abs(got - right) > rounding * right) {
    std::fprintf(stderr, "%s of %s on %d ranks: %g instead of %g\n", std::string(name_of(op)).c_str(),
                 std::string(name_of(type)).c_str(), ranks, got, right);
    return 1;
  }
  return 0;
}

class S06 : public testing::TestWithParam<int> {};

TEST_P(S06, EveryOperationOnEveryType) {
  expect_good(run_ranks(GetParam(), [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    for (int type = 0; type < kNumDTypes; ++type)
      for (int op = 0; op < kNumOps; ++op)
        WIA_RUN(check_pair(w, static_cast<DType>(type), static_cast<Op>(op)));
    return check_sum(w);
  }));
}

INSTANTIATE_TEST_SUITE_P(Field, S06, testing::Values(2, 3, 15));

}  // namespace
}  // namespace wia::field
