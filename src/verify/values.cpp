#include "verify/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "verify/random.hpp"

namespace wia {
Values::Number Values::input(int rank, uint32_t chunk, uint64_t i) const {
  const uint64_t low =
      mix(seed_ ^ mix(uint64_t{static_cast<uint32_t>(rank)} << 32 | chunk) ^ i * 0x9e3779b97f4a7c15);
  if (element_ == Element::token) return Number{mix(low)} << 64 | low;
  return static_cast<Number>(static_cast<__int128>(static_cast<int32_t>(low) / 1024));
}

Values::Number Values::add_up(uint32_t chunk, uint64_t i) const {
  Number total = 0;
  for (int r = 0; r < ranks_; ++r) total += input(r, chunk, i);
  if (element_ == Element::token) return total;
  return static_cast<Number>(static_cast<__int128>(total) / ranks_);  // toward zero
}

Values::Number Values::sum(uint32_t chunk, uint64_t i) const {
  if (chunk != 0) return add_up(chunk, i);
  while (sums_.size() <= i) sums_.push_back(add_up(0, sums_.size()));
  return sums_[i];
}

Values::Number Values::output(int rank, uint32_t chunk, uint64_t i) const {
  const auto mine = static_cast<uint32_t>(rank);
  switch (collective_) {
    case Collective::all_reduce:
    case Collective::reduce:
      return sum(0, i);
    case Collective::reduce_scatter:
      return sum(mine, i);
    case Collective::broadcast:
      return input(root_, 0, i);
    case Collective::all_gather:
    case Collective::gather:
      return input(static_cast<int>(chunk), 0, i);
    case Collective::scatter:
      return input(root_, mine, i);
    case Collective::all_to_all:
      return input(static_cast<int>(chunk), mine, i);
    case Collective::barrier:
      break;
  }
  return 0;
}

void Values::store(std::byte* at, Number value) const {
  if (element_ == Element::token) {
    std::memcpy(at, &value, sizeof value);
  } else {
    std::memcpy(at, &value, sizeof(int32_t));
  }
}

Values::Number Values::load(const std::byte* at) const {
  Number value = 0;
  std::memcpy(&value, at, bytes());
  return value;
}

bool Values::equal(const std::byte* at, Number value) const {
  if (element_ == Element::token) return std::memcmp(at, &value, sizeof value) == 0;
  return std::memcmp(at, &value, sizeof(int32_t)) == 0;
}

std::string Values::explain(const std::byte* at, int rank, uint32_t chunk, uint64_t i) const {
  if (std::all_of(at, at + bytes(), [](std::byte b) { return b == kPoison; })) return "was never written";
  if (element_ != Element::token) return "is wrong";
  const Number value = load(at);
  if (reduces(collective_)) {
    const uint32_t part = collective_ == Collective::reduce_scatter ? static_cast<uint32_t>(rank) : 0;
    const Number surplus = value - sum(part, i);
    for (int r = 0; r < ranks_; ++r) {
      const Number one = input(r, part, i);
      if (surplus == one) return fmt::format("counts rank {} twice", r);
      if (surplus == -one) return fmt::format("lacks rank {}", r);
      if (value == one) return fmt::format("is what rank {} put in", r);
    }
    return "is a wrong sum";
  }
  for (int r = 0; r < ranks_; ++r)
    for (uint32_t c = 0; c < static_cast<uint32_t>(ranks_); ++c)
      if (value == input(r, c, i)) return fmt::format("is what rank {} put in for rank {}", r, c);
  return fmt::format("is none of what the ranks put in for chunk {}", chunk);
}

}  // namespace wia
