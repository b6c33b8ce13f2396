// What must be in the outputs after a run of symbolic.hpp.
#pragma once
#include <fmt/format.h>

#include <map>

#include "symbolic_memory.hpp"

namespace wia::symbolic {

class Results {
 public:
  // `rank_order`: sums must have been added up in the order of ranks.
  Results(Memory& memory, const Shape& shape, bool rank_order)
      : memory_(memory), shape_(shape), rank_order_(rank_order) {}

  void check(uint32_t slices) {
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      for (uint32_t slice = 0; slice < slices; ++slice) {
        for (uint32_t chunk = 0; chunk < memory_.outputs(); ++chunk) check_chunk(rank, chunk, slice);
      }
    }
  }

 private:
  void check_chunk(int rank, uint32_t c, uint32_t s) {
    const auto own = static_cast<uint32_t>(rank);
    const auto root = static_cast<uint64_t>(shape_.root);
    const bool is_root = rank == shape_.root;
    switch (shape_.collective) {
      case Collective::all_reduce:
        expect_sum(rank, s, c, c);
        break;
      case Collective::reduce:
        if (is_root) expect_sum(rank, s, c, c);
        break;
      case Collective::reduce_scatter:
        expect_sum(rank, s, own, 0);
        break;
      case Collective::broadcast:
        expect(rank, s, c, token(root, c, s));
        break;
      case Collective::all_gather:
        expect(rank, s, c, token(c, 0, s));
        break;
      case Collective::gather:
        if (is_root) expect(rank, s, c, token(c, 0, s));
        break;
      case Collective::scatter:
        expect(rank, s, 0, token(root, own, s));
        break;
      case Collective::all_to_all:
        expect(rank, s, c, token(c, own, s));
        break;
      case Collective::barrier:
        break;
    }
  }

  Value sum_of_all(uint32_t chunk, uint32_t slice) const {
    Value sum;
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      const uint64_t t = token(static_cast<uint64_t>(rank), chunk, slice);
      const Value value{t, mix(t), 0, false, true};
      sum = sum.defined ? added(sum, value) : value;
    }
    return sum;
  }

  void expect(int rank, uint32_t slice, uint32_t chunk, uint64_t expected) {
    const Value& value = memory_.cell(rank, slice, output(chunk)).value;
    if (!value.defined || value.partial || value.sum != expected) {
      memory_.fail(fmt::format("rank {}: output[{}] of slice {} is wrong", rank, chunk, slice));
    }
  }

  void expect_sum(int rank, uint32_t slice, uint32_t chunk, uint32_t out_chunk) {
    const Value expected = sum_of_all(chunk, slice);
    expect(rank, slice, out_chunk, expected.sum);
    const uint64_t order = memory_.cell(rank, slice, output(out_chunk)).value.order;
    if (rank_order_ && order != expected.order)
      memory_.fail(fmt::format("rank {}: another order of additions", rank));
    const auto [first, is_new] = orders_.try_emplace({slice, chunk}, order);
    if (!is_new && first->second != order)
      memory_.fail(fmt::format("rank {}: other bits than rank 0, chunk {}", rank, chunk));
  }

  Memory& memory_;
  const Shape& shape_;
  const bool rank_order_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> orders_;  // by slice and chunk: of the first rank
};

}  // namespace wia::symbolic
