#include "cli/bench_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "reduce/reducer.hpp"

namespace wia::cli::bench {
namespace {

__extension__ using Int128 = __int128;

bool is_float(DType type) { return type >= DType::float16 && type <= DType::float8_e5m2; }
bool is_signed(DType type) {
  return type == DType::int8 || type == DType::int16 || type == DType::int32 || type == DType::int64;
}

// What a float rounds to: bits after the leading one, and the smallest number above 0.
struct Precision {
  int bits;
  double smallest;
};
Precision precision_of(DType type) {
  switch (type) {
    case DType::float8_e4m3:
      return {3, 0x1p-9};
    case DType::float8_e5m2:
      return {2, 0x1p-16};
    case DType::float16:
      return {10, 0x1p-24};
    case DType::bfloat16:
      return {7, 0x1p-133};
    case DType::float32:
      return {23, 0x1p-149};
    default:
      return {52, 0x1p-1074};
  }
}

uint64_t scramble(uint64_t z) {  // splitmix64
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t low_bits(uint64_t value, DType type) {
  const size_t bits = size_of(type) * 8;
  return bits < 64 ? value & ((uint64_t{1} << bits) - 1) : value;
}

// The number that these bits are.
Int128 integer(uint64_t bits, DType type) {
  if (!is_signed(type)) return static_cast<Int128>(bits);
  const size_t unused = 64 - size_of(type) * 8;
  return static_cast<int64_t>(bits << unused) >> unused;
}

uint64_t load(const std::byte* element, DType type) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, size_of(type));
  return bits;
}

// A float that can be added to and multiplied with those of other ranks without leaving the type's range.
double moderate(double random, Op op, int ranks) {  // random: in [-1, 1)
  if (op != Op::prod) return random;
  const double spread = ranks <= 8 ? 0.5 : 4.0 / ranks;
  return (random < 0 ? -1 : 1) * (1 + spread * (2 * std::fabs(random) - 1));
}

Int128 combine(Op op, DType type, Int128 a, Int128 b) {
  const bool boolean = type == DType::boolean;
  switch (op) {
    case Op::prod:
      return static_cast<Int128>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
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
      return a != 0 && b != 0;
    case Op::lor:
      return a != 0 || b != 0;
    default:
      return boolean ? a | b : a + b;
  }
}

// So many contributions are 0 that about half of the results are.
double share_of_zeros(const Cell& cell, int ranks) {
  const bool logical = cell.op == Op::land || cell.op == Op::lor;
  if (cell.dtype != DType::boolean && !(cell.reduces() && logical)) return 0;
  if (!cell.reduces() || cell.op == Op::bxor) return 0.5;
  const double even = std::exp2(-1.0 / ranks);
  const bool all_must_be_true =
      cell.op == Op::land || cell.op == Op::band || cell.op == Op::min || cell.op == Op::prod;
  return all_must_be_true ? 1 - even : even;
}

}  // namespace

TestData::TestData(const Cell& cell, int rank, int ranks, uint64_t seed)
    : cell_(cell), rank_(rank), ranks_(ranks), seed_(seed), zeros_(share_of_zeros(cell, ranks)) {}

uint64_t TestData::contribution(int rank, size_t i) const {
  const uint64_t random = scramble(scramble(seed_ + static_cast<uint64_t>(rank) * 0x632be59bd9b4e019) ^ i);
  const DType type = cell_.dtype;
  if (static_cast<double>(random >> 11) * 0x1p-53 < zeros_) return 0;
  if (type == DType::boolean) return 1;
  if (!cell_.reduces()) return low_bits(random, type);
  if (is_float(type)) {
    uint64_t bits = 0;
    const double uniform = static_cast<double>(static_cast<int64_t>(random) >> 11) * 0x1p-52;
    from_double(type, moderate(uniform, cell_.op, ranks_), &bits);
    return bits;
  }
  return low_bits(cell_.op == Op::prod ? random | 1 : random, type);  // odd: a product never becomes 0
}

void TestData::fill(std::byte* send) const {
  const size_t element = size_of(cell_.dtype);
  const size_t count = cell_.kind == Collective::broadcast ? cell_.count : cell_.send_elements(rank_, ranks_);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = contribution(rank_, i);
    std::memcpy(send + i * element, &bits, element);
  }
}

size_t TestData::count_changed(const std::byte* send) const {
  const size_t count = cell_.send_elements(rank_, ranks_), element = size_of(cell_.dtype);
  size_t changed = 0;
  for (size_t i = 0; i < count; ++i)
    changed += load(send + i * element, cell_.dtype) != contribution(rank_, i);
  return changed;
}

size_t TestData::count_wrong(const std::byte* recv) const {
  const size_t count = cell_.recv_elements(rank_, ranks_), element = size_of(cell_.dtype);
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t got = load(recv + i * element, cell_.dtype);
    const Origin origin = origin_of(i);
    wrong +=
        cell_.reduces() ? !combines_to(origin.index, got) : got != contribution(origin.rank, origin.index);
  }
  return wrong;
}

TestData::Origin TestData::origin_of(size_t i) const {
  if (!cell_.kind) return {(rank_ + ranks_ - 1) % ranks_, i};
  const size_t mine = static_cast<size_t>(rank_) * cell_.count;
  switch (*cell_.kind) {
    case Collective::all_gather:
    case Collective::gather:
      return {static_cast<int>(i / cell_.count), i % cell_.count};
    case Collective::all_to_all:
      return {static_cast<int>(i / cell_.count), mine + i % cell_.count};
    case Collective::reduce_scatter:
    case Collective::scatter:
      return {cell_.root, mine + i};
    default:
      return {cell_.root, i};
  }
}

bool TestData::combines_to(size_t i, uint64_t got) const {
  return is_float(cell_.dtype) ? floats_combine_to(i, got) : integers_combine_to(i, got);
}

bool TestData::integers_combine_to(size_t i, uint64_t got) const {
  const DType type = cell_.dtype;
  const Op op = type != DType::boolean ? cell_.op : cell_.op == Op::prod ? Op::band : cell_.op;
  Int128 value = integer(contribution(0, i), type);
  if (ranks_ == 1 && (op == Op::land || op == Op::lor)) value = value != 0;
  for (int rank = 1; rank < ranks_; ++rank)
    value = combine(op, type, value, integer(contribution(rank, i), type));
  if (op == Op::avg) value /= ranks_;  // truncates
  return got == low_bits(static_cast<uint64_t>(value), type);
}

bool TestData::floats_combine_to(size_t i, uint64_t got_bits) const {
  const DType type = cell_.dtype;
  const bool exact = cell_.op == Op::min || cell_.op == Op::max;
  long double value = 0, scale = 0;  // scale: what rounding errors are relative to
  for (int rank = 0; rank < ranks_; ++rank) {
    const uint64_t bits = contribution(rank, i);
    const long double x = to_double(type, &bits);
    if (rank == 0)
      value = x;
    else if (exact)
      value = cell_.op == Op::min ? std::min(value, x) : std::max(value, x);
    else
      value = cell_.op == Op::prod ? value * x : value + x;
    scale += std::fabs(x);
  }
  if (cell_.op == Op::avg) value /= ranks_, scale /= ranks_;
  if (cell_.op == Op::prod) scale = std::fabs(value);
  const double got = to_double(type, &got_bits);
  if (!std::isfinite(got)) return false;
  const long double difference = std::fabs(static_cast<long double>(got) - value);
  if (exact) return difference == 0;
  const Precision precision = precision_of(type);
  const double unit = type == DType::float64 ? 0x1p-53 : 0x1p-24;
  long double allowed = (ranks_ + 2) * unit * scale + precision.smallest;
  if (precision.bits < 23) allowed += std::ldexp(std::fabs(value) + allowed, -precision.bits - 1);
  return difference <= allowed;
}

}  // namespace wia::cli::bench
