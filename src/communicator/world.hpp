// A job as one of its processes sees it: who takes part, where to meet, whose memory can be reached, and by
// which network the others. Shared by all communicators of the job. Thread safe.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/keyed_hash.hpp"
#include "base/wait.hpp"
#include "bootstrap/launch.hpp"
#include "bootstrap/store.hpp"
#include "communicator/choosing.hpp"
#include "communicator/units.hpp"
#include "transport/network_address.hpp"
#include "transport/ofi_wire.hpp"
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
  // Who chooses algorithms, as rank 0 has it.
  const Choosing& choosing() const { return choosing_; }
  const WaitPolicy& wait_policy() const { return wait_policy_; }
  // Memory of a rank that this one shares memory with; null for the others.
  const std::shared_ptr<PeerHeap>& heap(int rank) const { return heaps_[rank]; }
  // For the choice of algorithms; ranks of one number share memory unless WIA_RANKS_PER_NODE says otherwise.
  int node(int rank) const { return places_[rank].node; }
  // The levels of the machine, as Shape::units has them.
  const std::vector<std::vector<int>>& units() const { return units_; }

  // Whether all ranks share memory. If not, there is a network:
  bool has_network() const { return !addresses_.empty(); }
  const NetworkAddress& address(int rank) const { return addresses_[rank]; }
  const HashKey& network_key() const { return network_key_; }
  // Ways from this rank to that one, and which of their rails the two use: those near to the lower of them,
  // shared with the other ranks of its host that are as near.
  Paths paths_to(int rank) const;
  std::vector<int> rails_to(int rank) const;
  // Which of so many, if they are all alike.
  std::vector<int> rails_to(int rank, int rails) const;
  OfiOptions ofi_options() const;
  // Hash of the name, that nobody else can know.
  uint64_t secret_name(const std::string& name) const;

  // Members that wait for others in vain say so; nothing of this takes longer than a second or two. Gives
  // those of `members` that have not said so (indices); nothing if the store cannot be asked.
  void report_waiting(const std::string& call, int index) const;
  std::vector<int> not_waiting(const std::string& call, size_t members) const;

  // All members of a group give a value under the same name and get everybody's, in the order of `members`
  // (ranks of the world). The text of a timeout names the members that are missing; a member that has ended
  // is noticed before.
  Result<std::vector<std::string>> exchange(const std::string& name, const std::vector<int>& members,
                                            int my_index, const std::string& value,
                                            const std::string& purpose, Deadline deadline);

 private:
  World() = default;
  Status meet(Deadline deadline);
  std::string name_of(const std::vector<int>& ranks) const;
  std::vector<int> left(const std::vector<int>& ranks);
  Status take_rank();
  std::vector<int> all_ranks() const;
  std::string open_heaps(const std::vector<std::string>& addresses);
  Status settle_nodes(const std::vector<std::string>& reaches);
  Status settle_levels(const std::vector<std::string>& levels, const std::vector<std::string>& domains,
                       const std::vector<std::string>& switches);
  Status join_network(Deadline deadline);
  Status check_families() const;
  void choose_wait_policy(const std::vector<std::string>& affinities);
  std::vector<int> share_of(int rank, int rails, bool only_with_near) const;
  bool shares_host(int a, int b) const { return hosts_[a] == hosts_[b]; }

  int rank_ = 0, size_ = 1;
  std::string prefix_;
  Config config_;
  Choosing choosing_;
  std::unique_ptr<Store> store_;
  bool all_have_come_ = false;
  std::vector<std::shared_ptr<PeerHeap>> heaps_;
  std::vector<int> hosts_;  // by rank: the lowest rank that it shares memory with
  std::vector<RankPlace> places_;
  std::vector<std::vector<int>> units_;
  std::vector<NetworkAddress> addresses_;
  HashKey network_key_;
  WaitPolicy wait_policy_;
};

}  // namespace wia
