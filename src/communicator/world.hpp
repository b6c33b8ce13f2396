// A job as one of its processes sees it: who takes part, where to meet, whose memory can be reached.
// Shared by all communicators of the job. Thread safe.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/wait.hpp"
#include "bootstrap/launch.hpp"
#include "bootstrap/store.hpp"
#include "transport/shm_heap.hpp"

namespace wia {

class World {
 public:
  // Meets the others: ends at the deadline, naming those who have not come; one line after
  // Config::late_notice_ms does so before. A rank that is taken is refused by name.
  // `prefix` keeps apart the worlds that one job makes one after the other; `server` as for join_store.
  static Result<std::shared_ptr<World>> join(const Launch& launch, const std::string& prefix,
                                             const Config& config, Deadline deadline,
                                             std::unique_ptr<StoreServer>* server);
  // With a store that exists already (unique-id initialisation).
  static Result<std::shared_ptr<World>> join(std::unique_ptr<Store> store, const std::string& prefix,
                                             int rank, int size, const Config& config, Deadline deadline);

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Config& config() const { return config_; }
  const WaitPolicy& wait_policy() const { return wait_policy_; }
  const std::shared_ptr<PeerHeap>& heap(int rank) const { return heaps_[rank]; }
  int node(int rank) const { return nodes_[rank]; }

  // All members of a group give a value under the same name and get everybody's, in the order of `members`
  // (ranks of the world). The text of a timeout names the members that are missing; a member that has ended
  // is noticed before.
  Result<std::vector<std::string>> exchange(const std::string& name, const std::vector<int>& members,
                                            int my_index, const std::string& value,
                                            const std::string& purpose, Deadline deadline);

 private:
  World() = default;
  Status meet(Deadline deadline);
  void choose_wait_policy(const std::vector<std::string>& affinities);

  int rank_ = 0, size_ = 1;
  std::string prefix_;
  Config config_;
  std::unique_ptr<Store> store_;
  std::vector<std::shared_ptr<PeerHeap>> heaps_;
  std::vector<int> nodes_;
  WaitPolicy wait_policy_;
};

}  // namespace wia
