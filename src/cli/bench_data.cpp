#include "cli/bench_data.hpp"

#include <algorithm>
#include <cmath>

#include "reduce/reducer.hpp"

namespace wia::cli::bench {
namespace {

bool is_float(DType type) { return type >= DType::float16 && type <= DType::float8_e5m2; }
bool is_fp8(DType type) { return type == DType::float8_e4m3 || type == DType::float8_e5m2; }

uint64_t scramble(uint64_t a, uint64_t b) {
  uint64_t z = a + 0x9e3779b97f4a7c15 * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  return z ^ (z >> 27);
}

// Distance of neighbouring values, relative to the value.
double unit_in_last_place(DType type) {
  switch (type) {
    case DType::float8_e4m3:
      return 0x1p-3;
    case DType::float8_e5m2:
      return 0x1p-2;
    case DType::bfloat16:
      return 0x1p-7;
    case DType::float16:
      return 0x1p-10;
    case DType::float32:
      return 0x1p-23;
    default:
      return 0x1p-52;
  }
}

double combine_floats(Op op, double a, double b) {
  switch (op) {
    case Op::prod:
      return a * b;
    case Op::min:
      return std::min(a, b);
    case Op::max:
      return std::max(a, b);
    default:
      return a + b;
  }
}

uint64_t combine_integers(Op op, uint64_t a, uint64_t b) {
  switch (op) {
    case Op::prod:
      return a * b;
    case Op::min:
      return std::min(a, b);
    case Op::max:
      return std::max(a, b);
    case Op::band:
      return a & b;
    case Op::bor:
      return a | b;
    case Op::bxor:
      return a ^ b;
    case Op::land:
      return a && b;
    case Op::lor:
      return a || b;
    default:
      return a + b;
  }
}

// The op over all ranks' element i; integers are not negative, so that they order as unsigned ones.
double combined(const Shape& s, size_t i) {
  if (is_float(s.dtype)) {
    double value = contribution(s, 0, i);
    for (int r = 1; r < s.ranks; ++r) value = combine_floats(s.op, value, contribution(s, r, i));
    return s.op == Op::avg ? value / s.ranks : value;
  }
  auto value = static_cast<uint64_t>(contribution(s, 0, i));
  for (int r = 1; r < s.ranks; ++r)
    value = combine_integers(s.op, value, static_cast<uint64_t>(contribution(s, r, i)));
  if (s.ranks == 1 && (s.op == Op::land || s.op == Op::lor)) value = value != 0;
  if (s.op == Op::avg) value /= static_cast<uint64_t>(s.ranks);
  if (s.dtype == DType::boolean)
    return s.op == Op::bxor ? static_cast<double>(value & 1)
                            : static_cast<double>(s.op == Op::prod ? value != 0 : value > 0);
  // Wraps around as the dtype does.
  const size_t bits = size_of(s.dtype) * 8;
  if (bits < 64) value &= (uint64_t{1} << bits) - 1;
  const bool is_signed =
      s.dtype == DType::int8 || s.dtype == DType::int16 || s.dtype == DType::int32 || s.dtype == DType::int64;
  if (is_signed && bits < 64 && value >> (bits - 1))
    return static_cast<double>(static_cast<int64_t>(value) - (int64_t{1} << bits));
  return static_cast<double>(is_signed ? static_cast<double>(static_cast<int64_t>(value))
                                       : static_cast<double>(value));
}

double expected(const Shape& s, size_t i) {
  if (!s.kind) return contribution(s, (s.rank + s.ranks - 1) % s.ranks, i);
  const size_t block = s.count ? i / s.count : 0, within = s.count ? i % s.count : 0;
  const size_t mine = static_cast<size_t>(s.rank) * s.count;
  switch (*s.kind) {
    case Collective::all_reduce:
    case Collective::reduce:
      return combined(s, i);
    case Collective::reduce_scatter:
      return combined(s, mine + i);
    case Collective::broadcast:
      return contribution(s, s.root, i);
    case Collective::all_gather:
    case Collective::gather:
      return contribution(s, static_cast<int>(block), within);
    case Collective::scatter:
      return contribution(s, s.root, mine + i);
    case Collective::all_to_all:
      return contribution(s, static_cast<int>(block), mine + within);
    case Collective::barrier:
      return 0;
  }
  return 0;
}

}  // namespace

bool combines(Kind kind) { return kind && reduces(*kind); }
bool rooted(Kind kind) { return kind && has_root(*kind); }

size_t send_count(const Shape& s) {
  if (!s.kind) return s.count;
  switch (*s.kind) {
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return s.count * static_cast<size_t>(s.ranks);
    case Collective::scatter:
      return s.rank == s.root ? s.count * static_cast<size_t>(s.ranks) : 0;
    case Collective::barrier:
      return 0;
    default:
      return s.count;
  }
}

size_t recv_count(const Shape& s) {
  if (!s.kind) return s.count;
  switch (*s.kind) {
    case Collective::all_gather:
    case Collective::all_to_all:
      return s.count * static_cast<size_t>(s.ranks);
    case Collective::gather:
      return s.rank == s.root ? s.count * static_cast<size_t>(s.ranks) : 0;
    case Collective::reduce:
      return s.rank == s.root ? s.count : 0;
    case Collective::barrier:
      return 0;
    default:
      return s.count;
  }
}

double contribution(const Shape& s, int rank, size_t i) {
  const uint64_t random = scramble(i, static_cast<uint64_t>(rank)) >> 20;
  if (s.dtype == DType::boolean) return static_cast<double>(random % 2);
  if (combines(s.kind) && s.op == Op::prod) return static_cast<double>(random % 2 + 1);
  return static_cast<double>(random % (is_fp8(s.dtype)         ? 4
                                       : size_of(s.dtype) == 1 ? 100
                                       : size_of(s.dtype) == 2 ? 16
                                                               : 100'000));
}

void fill(const Shape& s, void* data, size_t count) {
  auto* bytes = static_cast<std::byte*>(data);
  for (size_t i = 0; i < count; ++i)
    from_double(s.dtype, contribution(s, s.rank, i), bytes + i * size_of(s.dtype));
}

size_t count_wrong(const Shape& s, const void* result) {
  const size_t count = recv_count(s), stride = count > 1'000'000 ? 13 : 1, element = size_of(s.dtype);
  const auto* bytes = static_cast<const std::byte*>(result);
  size_t wrong = 0;
  for (size_t i = 0; i < count; i += stride) {
    const double want = expected(s, i), got = to_double(s.dtype, bytes + i * element);
    const double allowed = is_float(s.dtype) ? 2 * unit_in_last_place(s.dtype) * std::fabs(want) : 0;
    const bool overflow =
        is_float(s.dtype) && !std::isfinite(got) && std::fabs(want) > 240;  // of a narrow float
    if (!(std::fabs(got - want) <= allowed) && !overflow) ++wrong;
  }
  return wrong;
}

}  // namespace wia::cli::bench
