// Ranks over the loop transport, each with a schedule of its own, for tests that move them one by one.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "engine/execution.hpp"
#include "transport/loop.hpp"

namespace wia {

inline Shape all_reduce_shape(int ranks, int rank) {
  Shape shape;
  shape.ranks = ranks;
  shape.rank = rank;
  return shape;
}

// Ranks with int32 buffers, each with a schedule of its own.
class Engine : public testing::Test {
 protected:
  struct Rank {
    Schedule schedule;
    Binding binding;
    std::unique_ptr<Execution> execution;
    std::vector<int32_t> in, out;
  };
  using State = Execution::State;
  using Steps = std::function<void(Builder&, int rank)>;

  // Buffers of all_reduce in `split` chunks; inputs are 100 * rank + 0, 1, 2 ...
  void make(int ranks, uint64_t count, uint32_t split, const Steps& steps, const LoopOptions& options = {}) {
    group_ = std::make_unique<LoopGroup>(ranks, options);
    ranks_.clear();
    ranks_.resize(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      Rank& rank = at(r);
      Builder builder(all_reduce_shape(ranks, r), split);
      steps(builder, r);
      auto finished = std::move(builder).finish();
      ASSERT_TRUE(finished.ok()) << finished.status().text();
      rank.schedule = std::move(*finished);
      rank.execution = std::make_unique<Execution>(group_->endpoint(r));
      rank.in.resize(count);
      std::iota(rank.in.begin(), rank.in.end(), 100 * r);
      rank.out.assign(count, -1);
      bind(rank, count, split, options);
    }
  }
  void bind(Rank& rank, uint64_t count, uint32_t split, const LoopOptions& options) {
    rank.binding.input = reinterpret_cast<std::byte*>(rank.in.data());
    rank.binding.output = reinterpret_cast<std::byte*>(rank.out.data());
    rank.binding.input_extents = rank.binding.output_extents = Extents::even(count, split);
    rank.binding.raw_bytes = sizeof(int32_t);
    rank.binding.reducer = &reducer_;
    rank.binding.slice_elements = std::max<uint64_t>(rank.binding.output_extents.longest(), 1);
    rank.binding.direct_from = options.direct ? 1 : SIZE_MAX;
    rank.binding.measure();
  }
  void slice(uint64_t elements, uint32_t slices, uint32_t window) {
    for (Rank& rank : ranks_) {
      rank.binding.slice_elements = elements;
      rank.binding.slices = slices;
      rank.binding.window = window;
    }
  }
  Rank& at(int rank) { return ranks_[static_cast<size_t>(rank)]; }
  void start(int rank, uint32_t hash = 1) {
    CallSignature call;
    call.sequence = sequence_;
    call.hash = hash;
    at(rank).execution->start(at(rank).schedule, at(rank).binding, call);
  }
  void start_all() {
    for (int r = 0; r < group_->ranks(); ++r) start(r);
  }
  State advance(int rank) { return at(rank).execution->advance(); }
  // Until all are done, or nobody moves.
  bool finish_all() {
    std::vector<bool> done(ranks_.size(), false);
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t r = 0; r < ranks_.size(); ++r) {
        if (done[r]) continue;
        const State state = advance(static_cast<int>(r));
        done[r] = state == State::done;
        moved |= done[r] || state == State::moved;
      }
    }
    ++sequence_;
    return std::count(done.begin(), done.end(), true) == static_cast<long>(done.size()) &&
           group_->undelivered() == 0;
  }
  void run() {
    start_all();
    ASSERT_TRUE(finish_all());
  }

  std::unique_ptr<LoopGroup> group_;
  std::vector<Rank> ranks_;
  Reducer reducer_ = Reducer::make(DType::int32, Op::sum, 2).value();
  uint64_t sequence_ = 1;
};

// Rank 0 sends all to rank 1.
inline void send_to_1(Builder& builder, int rank) {
  if (rank == 0) builder.send(0, 1, input(0), 0);
  if (rank == 1) builder.recv(0, 0, output(0), 0);
}

}  // namespace wia
