// Sums gradients over the ranks while the backward pass still computes more of them.
//
// The gradients lie in one buffer and are completed from its end to its beginning. As soon as a bucket full
// of them is complete, its all-reduce starts and runs beside the backward pass. All ranks cut the same
// buckets.
#pragma once
#include <cstddef>
#include <span>
#include <vector>
#include <wia/wia.hpp>

class GradientBuckets {
 public:
  GradientBuckets(const wia::Communicator& comm, std::span<float> gradients, std::size_t bucket_bytes)
      : comm_(comm), gradients_(gradients), bucket_bytes_(bucket_bytes) {}

  // Gradients from `begin` on are complete.
  void complete(std::size_t begin) {
    if ((end_ - begin) * sizeof(float) >= bucket_bytes_ || begin == 0) start(begin);
  }
  void start_backward() { end_ = gradients_.size(); }
  // After it, every rank has the same sums.
  void wait() {
    for (wia::Request& request : requests_) request.wait().value();
    requests_.clear();
  }
  std::size_t started() const { return started_; }

 private:
  void start(std::size_t begin) {
    requests_.push_back(comm_.async().all_reduce(gradients_.subspan(begin, end_ - begin)).value());
    end_ = begin;
    started_++;
  }

  const wia::Communicator& comm_;
  std::span<float> gradients_;
  std::size_t bucket_bytes_, end_ = 0, started_ = 0;
  std::vector<wia::Request> requests_;
};
