#include "communicator/world.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <set>

#include "base/log.hpp"
#include "base/machine.hpp"
#include "engine/progress_thread.hpp"

namespace wia {
namespace {

constexpr int64_t kLookEveryMs = 500;  // at those who are missing

}  // namespace

Result<std::shared_ptr<World>> World::join(const Launch& launch, const std::string& prefix,
                                           const Config& config, Deadline deadline,
                                           std::unique_ptr<StoreServer>* server) {
  std::unique_ptr<Store> store;
  if (launch.size > 1) {
    auto joined = join_store(launch, deadline, server);
    if (!joined) return joined.take_status();
    store = std::move(joined.value());
  }
  return join(std::move(store), prefix, launch.rank, launch.size, config, deadline);
}

Result<std::shared_ptr<World>> World::join(std::unique_ptr<Store> store, const std::string& prefix, int rank,
                                           int size, const Config& config, Deadline deadline) {
  std::shared_ptr<World> world(new World);
  world->rank_ = rank;
  world->size_ = size;
  world->prefix_ = prefix;
  world->config_ = config;
  world->store_ = std::move(store);
  WIA_RETURN_IF_ERROR(world->meet(deadline));
  return world;
}

Status World::meet(Deadline deadline) {
  auto heap = ShmHeap::instance(config_.heap_bytes);
  if (!heap) return heap.take_status();
  std::vector<int> everyone(static_cast<size_t>(size_));
  for (int r = 0; r < size_; ++r) everyone[r] = r;
  if (store_) {
    const std::string who = this_process();
    auto holder = store_->set_if_absent(fmt::format("{}member/{}", prefix_, rank_), who);
    if (!holder) return holder.take_status();
    if (*holder != who)
      return Status::error(Code::invalid_argument, "rank {} of {} is taken: {} holds it, {} wanted it too",
                           rank_, size_, *holder, who);
  }
  auto addresses = exchange("heap", everyone, rank_, heap.value()->address(), "to start", deadline);
  if (!addresses) return addresses.take_status();
  for (int r = 0; r < size_; ++r) {
    auto peer = PeerHeap::open(addresses.value()[r]);
    if (!peer)
      return Status::error(Code::unreachable,
                           "rank {} cannot reach rank {}: {}; ranks must share a host in this version", rank_,
                           r, peer.status().text());
    heaps_.push_back(std::move(peer.value()));
    nodes_.push_back(config_.ranks_per_node > 0 ? r / config_.ranks_per_node : 0);
  }
  // Nobody leaves before all have mapped his memory.
  auto affinities =
      exchange("ready", everyone, rank_, fmt::format("{}", fmt::join(affinity(), ",")), "to start", deadline);
  if (!affinities) return affinities.take_status();
  choose_wait_policy(affinities.value());
  return {};
}

void World::choose_wait_policy(const std::vector<std::string>& affinities) {
  std::set<std::string> cpus;
  for (const std::string& list : affinities)
    for (size_t begin = 0; begin < list.size();) {
      const size_t end = std::min(list.find(',', begin), list.size());
      cpus.insert(list.substr(begin, end - begin));
      begin = end + 1;
    }
  // Affinity may differ between ranks (bound to cores); a quota counts for all alike.
  const double allowed = std::min<double>(static_cast<double>(cpus.size()), quota_cpus());
  const std::string& wait = config_.wait;
  if (wait == "spin" || (wait == "auto" && size_ <= allowed)) {
    wait_policy_ = WaitPolicy::spin();
  } else {
    wait_policy_ = wait == "sleep" ? WaitPolicy::sleep_soon() : WaitPolicy::yield();
  }
  log::info("{} ranks on {:.1f} allowed CPUs: {} while waiting", size_, allowed,
            wait_policy_.spins > 0 ? "spin" : "yield");
  ProgressThread::instance().set_wait(WaitPolicy{wait_policy_.spins / 10, wait_policy_.yield_ns / 10, true},
                                      &ShmHeap::existing()->header().doorbell);
}

Result<std::vector<std::string>> World::exchange(const std::string& name, const std::vector<int>& members,
                                                 int my_index, const std::string& value,
                                                 const std::string& purpose, Deadline deadline) {
  if (members.size() == 1) return std::vector<std::string>{value};
  std::vector<std::string> keys;
  for (size_t i = 0; i < members.size(); ++i) keys.push_back(fmt::format("{}{}/{}", prefix_, name, i));
  WIA_RETURN_IF_ERROR(store_->set(keys[static_cast<size_t>(my_index)], value));
  const int64_t began = now_ns();
  const auto waited = [&] { return static_cast<double>(now_ns() - began) * 1e-9; };
  std::string missing_ranks;  // of the last look
  for (bool notice_given = false;;) {
    std::vector<int> missing;
    auto values = store_->get_all(keys, Deadline::after_ms(kLookEveryMs).earlier(deadline), &missing);
    if (values) return values;
    for (int& index : missing) index = members[static_cast<size_t>(index)];
    if (!missing.empty())
      missing_ranks = fmt::format("rank{} {}", missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
    const Code code = values.status().code();
    if (code != Code::timeout)
      return Status::error(code, "rank {} waited {:.1f} s {}{}: {}", rank_, waited(), purpose,
                           missing_ranks.empty() ? "" : " for " + missing_ranks, values.status().text());
    for (const int member : missing)
      if (static_cast<size_t>(member) < heaps_.size() && !heaps_[member]->alive())
        return Status::error(
            Code::peer_failed,
            "rank {} (pid {}) is lost: its process has ended; rank {} waited for it {:.1f} s {}", member,
            heaps_[member]->pid(), rank_, waited(), purpose);
    if (deadline.passed())
      return Status::error(Code::timeout, "rank {} waited {:.1f} s {} for {} of {} members: not there", rank_,
                           waited(), purpose, missing_ranks, members.size());
    if (notice_given || waited() * 1000 < static_cast<double>(config_.late_notice_ms)) continue;
    notice_given = true;
    log::warning("rank {} has waited {:.0f} s {} for {}", rank_, waited(), purpose, missing_ranks);
  }
}

}  // namespace wia
