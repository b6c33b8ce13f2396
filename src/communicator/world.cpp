#include "communicator/world.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/random.hpp"
#include "engine/progress_thread.hpp"
#include "topology/nics.hpp"
#include "topology/sysfs.hpp"
#include "transport/network.hpp"

namespace wia {
namespace {

constexpr int64_t kLookEveryMs = 500;  // at those who are missing
constexpr int64_t kReportMs = 1'000;   // for the store to take a report
constexpr int64_t kPartingMs = 2'000;  // for the others to learn what they need from a store that is to end

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
  auto world = join(std::move(store), prefix, launch.rank, launch.size, config, deadline);
  if (!world && *server) (*server)->wait_until_left(launch.rank, Deadline::after_ms(kPartingMs));
  return world;
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

Status World::take_rank() {
  if (!store_) return {};
  const std::string who = this_process();
  auto holder = store_->set_if_absent(fmt::format("{}member/{}", prefix_, rank_), who);
  if (!holder) return holder.take_status();
  if (*holder == who) return {};
  return Status::error(Code::invalid_argument, "rank {} of {} is taken: {} holds it, {} wanted it too", rank_,
                       size_, *holder, who);
}

Status World::meet(Deadline deadline) {
  auto heap = ShmHeap::instance(config_.heap_bytes);
  if (!heap) return heap.take_status();
  const std::vector<int> everyone = all_ranks();
  WIA_RETURN_IF_ERROR(take_rank());
  auto addresses = exchange("heap", everyone, rank_, heap.value()->address(), "to start", deadline);
  if (!addresses) return addresses.take_status();
  all_have_come_ = true;
  const std::string reach = open_heaps(addresses.value());
  // Nobody leaves before all have mapped his memory.
  std::string own = fmt::format("{}\n{}\n{}\n{}\n{}\n", reach, fmt::join(affinity(), ","), config_.levels,
                                sysfs::numa_node_of_cpus(affinity()).value_or(-1), config_.switch_name);
  if (rank_ == 0) own += choosing_text(config_);
  auto ready = exchange("ready", everyone, rank_, own, "to start", deadline);
  if (!ready) return ready.take_status();
  std::vector<std::string> reaches, affinities, levels, domains, switches;
  for (std::string& line : ready.value()) {
    for (std::vector<std::string>* part : {&reaches, &affinities, &levels, &domains, &switches}) {
      const size_t end = std::min(line.find('\n'), line.size());
      part->push_back(line.substr(0, end));
      line.erase(0, std::min(end + 1, line.size()));
    }
  }
  WIA_RETURN_IF_ERROR(settle_nodes(reaches));
  WIA_RETURN_IF_ERROR(settle_levels(levels, domains, switches));
  auto choosing = choosing_from_text(ready.value()[0]);
  if (!choosing) return choosing.take_status();
  choosing_ = std::move(choosing.value());
  if (std::any_of(hosts_.begin(), hosts_.end(), [](int host) { return host != 0; }))
    WIA_RETURN_IF_ERROR(join_network(deadline));
  choose_wait_policy(affinities);
  return {};
}

std::vector<int> World::all_ranks() const {
  std::vector<int> everyone(static_cast<size_t>(size_));
  for (int r = 0; r < size_; ++r) everyone[r] = r;
  return everyone;
}

// --- Locality: by doing it ----------------------------------------------------------------------

// Maps what can be mapped. Gives a digit for each rank: 1 where it was.
std::string World::open_heaps(const std::vector<std::string>& addresses) {
  const int per_node = config_.ranks_per_node;
  const bool by_network_alone = config_.transport == "tcp" || config_.transport == "ofi";
  std::string reach(static_cast<size_t>(size_), '0');
  heaps_.resize(static_cast<size_t>(size_));
  for (int r = 0; r < size_; ++r) {
    // By the network alone: nodes are what WIA_RANKS_PER_NODE says, else every rank is one.
    const bool wanted = !by_network_alone || (per_node > 0 ? r / per_node == rank_ / per_node : r == rank_);
    if (!wanted) continue;
    auto peer = PeerHeap::open(addresses[r]);
    if (!peer) {
      log::debug("rank {} does not share memory with rank {}: {}", rank_, r, peer.status().text());
      continue;
    }
    heaps_[r] = std::move(peer.value());
    reach[r] = '1';
  }
  return reach;
}

// Ranks are on one host if each reaches all the others of it and nobody else does; whoever is in a more
// intricate position is taken to be alone.
Status World::settle_nodes(const std::vector<std::string>& reaches) {
  for (int r = 0; r < size_; ++r) {
    const std::string& reach = reaches[r];
    bool whole = reach.size() == reaches.size() && reach[r] == '1';
    for (int other = 0; whole && other < size_; ++other)
      if (reach[other] == '1') whole = reaches[other] == reach;
    hosts_.push_back(whole ? static_cast<int>(reach.find('1')) : r);
  }
  for (int r = 0; r < size_; ++r) {
    if (!shares_host(r, rank_)) {
      heaps_[r].reset();
      if (config_.transport == "shm")
        return Status::error(Code::unreachable,
                             "rank {} shares no memory with rank {}, and WIA_TRANSPORT is shm", rank_, r);
    }
    places_.emplace_back().node = config_.ranks_per_node > 0 ? r / config_.ranks_per_node : hosts_[r];
  }
  if (!heaps_[rank_]) return Status::error(Code::system, "rank {} cannot map its own memory", rank_);
  return {};
}

// By rank: WIA_LEVELS, the NUMA domain, the switch.
Status World::settle_levels(const std::vector<std::string>& levels, const std::vector<std::string>& domains,
                            const std::vector<std::string>& switches) {
  for (int r = 0; r < size_; ++r) {
    if (levels[r] != config_.levels)
      return Status::error(Code::invalid_argument, "WIA_LEVELS is \"{}\" on rank {} and \"{}\" on rank {}",
                           config_.levels, rank_, levels[r], r);
    places_[r].numa = std::atoi(domains[r].c_str());
    places_[r].switch_name = switches[r];
  }
  auto units = units_of(config_.levels, places_);
  if (!units) return units.take_status();
  units_ = std::move(units.value());
  return {};
}

// --- The network --------------------------------------------------------------------------------

Status World::join_network(Deadline deadline) {
  auto nics = select_nics(list_nics(), config_.nic);
  if (!nics) return nics.take_status();
  auto network = Network::instance();
  if (!network) return network.take_status();
  NetworkAddress own{host_name(), static_cast<int>(getpid()), network.value()->port(), {}};
  own.near = nics_near(nics.value(), sysfs::numa_node_of_cpus(affinity()));
  for (const Nic& nic : nics.value())
    for (const NicAddress& address : nic.addresses)
      if (auto parsed = parse_address(address.text()); parsed && !address.link_local_v6())
        own.places.push_back({nic.name, *parsed, address.prefix_length});
  auto key = store_->set_if_absent(prefix_ + "network/key", random_name());
  if (!key) return key.take_status();
  network_key_ = {std::stoull(key->substr(0, 16), nullptr, 16), std::stoull(key->substr(16), nullptr, 16)};
  auto addresses = exchange("network", all_ranks(), rank_, own.text(), "for its network address", deadline);
  if (!addresses) return addresses.take_status();
  for (const std::string& text : addresses.value()) {
    auto address = NetworkAddress::parse(text);
    if (!address) return address.take_status();
    addresses_.push_back(std::move(address.value()));
  }
  log::info("rank {} is reached at {}", rank_, own.text());
  return check_families();
}

// What no attempt could make good: an error at once.
Status World::check_families() const {
  for (int r = 0; r < size_; ++r) {
    if (shares_host(r, rank_) || !paths_to(r).rails.empty()) continue;
    return Status::error(Code::unreachable,
                         "rank {} ({}) and rank {} ({}) have no kind of address in common: {}; {}", rank_,
                         addresses_[rank_].host, r, addresses_[r].host, addresses_[rank_].places_text(),
                         addresses_[r].places_text());
  }
  return {};
}

// As the lower of the two ranks sees it: both must number the rails alike.
Paths World::paths_to(int rank) const {
  if (rank_ < rank) return plan_paths(addresses_[rank_], addresses_[rank]);
  return reversed(plan_paths(addresses_[rank], addresses_[rank_]), addresses_[rank].port);
}

std::vector<int> World::rails_to(int rank) const {
  const auto [lower, higher] = std::minmax(rank_, rank);
  const std::vector<int> near =
      near_rails(addresses_[lower], plan_paths(addresses_[lower], addresses_[higher]));
  std::vector<int> rails = share_of(lower, static_cast<int>(near.size()), true);
  for (int& rail : rails) rail = near[static_cast<size_t>(rail)];
  return rails;
}

std::vector<int> World::rails_to(int rank, int rails) const {
  return share_of(std::min(rank_, rank), rails, false);
}

std::vector<int> World::share_of(int rank, int rails, bool only_with_near) const {
  int local = 0, on_node = 0;
  for (int r = 0; r < size_; ++r) {
    if (!shares_host(r, rank) || (only_with_near && addresses_[r].near != addresses_[rank].near)) continue;
    local += r < rank;
    ++on_node;
  }
  return rails_of(rails, local, on_node);
}

uint64_t World::secret_name(const std::string& name) const {
  const std::string whole = prefix_ + name;
  return KeyedHash(network_key_)(whole.data(), whole.size());
}

OfiOptions World::ofi_options() const {
  OfiOptions options;
  for (const NetworkPlace& place : address(rank_).places) options.addresses.push_back(place.address);
  options.wake_sleepers = config_.wait == "sleep";
  return options;
}

// By the ranks of this host and the CPUs that they may use.
void World::choose_wait_policy(const std::vector<std::string>& affinities) {
  std::set<std::string> cpus;
  int ranks = 0;
  for (int r = 0; r < size_; ++r) {
    if (!shares_host(r, rank_)) continue;
    ++ranks;
    const std::string& list = affinities[r];
    for (size_t begin = 0; begin < list.size();) {
      const size_t end = std::min(list.find(',', begin), list.size());
      cpus.insert(list.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  // Affinity may differ between ranks (bound to cores); a quota counts for all alike.
  const double allowed = std::min<double>(static_cast<double>(cpus.size()), quota_cpus());
  // The system's own work for a network needs a CPU too: ranks that spin on all of them wait for themselves.
  // To yield costs less than the look at a socket before it.
  const std::string& wait = config_.wait;
  if (wait == "spin" || (wait == "auto" && ranks <= allowed && !has_network())) {
    wait_policy_ = WaitPolicy::spin();
  } else {
    wait_policy_ = wait == "sleep" ? WaitPolicy::sleep_soon() : WaitPolicy::yield();
  }
  log::info("{} ranks of this host on {:.1f} allowed CPUs: {} while waiting", ranks, allowed,
            wait_policy_.spins > 0 ? "spin" : "yield");
  if (has_network()) wait_policy_.before_sleep = [](Doorbell& bell) { Network::existing()->arm(bell); };
  if (has_network() && config_.transport == "ofi") {
    if (ofi_wakes_sleepers(ofi_options())) {
      wait_policy_.before_sleep = [](Doorbell& bell) {
        Network::existing()->arm(bell);
        arm_ofi(bell);
      };
    } else {
      wait_policy_.longest_sleep_ns = 1'000'000;
    }
  }
  WaitPolicy background = wait_policy_;
  background.spins /= 10;
  background.yield_ns /= 10;
  ProgressThread::instance().set_wait(background, &ShmHeap::existing()->header().doorbell);
}

void World::report_waiting(const std::string& call, int index) const {
  const std::string key = fmt::format("{}waiting/{}/{}", prefix_, call, index);
  [[maybe_unused]] const Status status = store_->set(key, "", Deadline::after_ms(kReportMs));
}

std::vector<int> World::not_waiting(const std::string& call, size_t members) const {
  std::vector<std::string> keys;
  for (size_t i = 0; i < members; ++i) keys.push_back(fmt::format("{}waiting/{}/{}", prefix_, call, i));
  std::vector<int> missing;
  [[maybe_unused]] const auto values = store_->get_all(keys, Deadline::after_ms(0), &missing);
  return missing;
}

// --- Meeting ------------------------------------------------------------------------------------

std::string World::name_of(const std::vector<int>& ranks) const {
  if (addresses_.empty())
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
  std::string text;
  for (const int r : ranks)
    text += fmt::format("{}rank {} (pid {} of host {}, {})", text.empty() ? "" : ", ", r, addresses_[r].pid,
                        addresses_[r].host, addresses_[r].places_text());
  return text;
}

// Those of the ranks whose connection to the store has ended.
std::vector<int> World::left(const std::vector<int>& ranks) {
  if (!all_have_come_) return {};
  std::vector<std::string> keys;
  for (const int r : ranks) keys.push_back(left_key(r));
  std::vector<int> present;  // indices
  const auto values = store_->get_all(keys, Deadline::after_ms(0), &present);
  if (!values && values.status().code() != Code::timeout) return {};
  std::vector<int> gone;
  for (size_t i = 0; i < ranks.size(); ++i)
    if (values ||
        (!present.empty() && !std::binary_search(present.begin(), present.end(), static_cast<int>(i))))
      gone.push_back(ranks[i]);
  return gone;
}

Result<std::vector<std::string>> World::exchange(const std::string& name, const std::vector<int>& members,
                                                 int my_index, const std::string& value,
                                                 const std::string& purpose, Deadline deadline) {
  if (members.size() == 1) return std::vector<std::string>{value};
  std::vector<std::string> keys;
  for (size_t i = 0; i < members.size(); ++i) keys.push_back(fmt::format("{}{}/{}", prefix_, name, i));
  const int64_t began = now_ns();
  const auto waited = [&] { return static_cast<double>(now_ns() - began) * 1e-9; };
  if (const Status told = store_->set(keys[static_cast<size_t>(my_index)], value, deadline); !told.ok())
    return Status::error(told.code(), "rank {} waited {:.1f} s {}: {}", rank_, waited(), purpose,
                         told.text());
  std::vector<int> missing, gone_before;  // of the last look
  for (bool notice_given = false;;) {
    std::vector<int> indices;
    auto values = store_->get_all(keys, Deadline::after_ms(kLookEveryMs).earlier(deadline), &indices);
    if (values) return values;
    const Status& reason = values.status();
    if (!indices.empty()) missing.clear();
    for (const int index : indices) missing.push_back(members[static_cast<size_t>(index)]);
    if (reason.code() != Code::timeout || (indices.empty() && deadline.passed()))
      return Status::error(reason.code(), "rank {} waited {:.1f} s {}{}: {}", rank_, waited(), purpose,
                           missing.empty() ? "" : " for " + name_of(missing), reason.text());
    const auto gone = left(missing);
    for (const int member : missing) {
      const PeerHeap* heap = static_cast<size_t>(member) < heaps_.size() ? heaps_[member].get() : nullptr;
      if (heap && !heap->alive())
        return Status::error(
            Code::peer_failed,
            "rank {} (pid {}) is lost: its process has ended; rank {} waited for it {:.1f} s {}", member,
            heap->pid(), rank_, waited(), purpose);
      // Seen twice: a connection that broke may be made anew.
      if (std::ranges::count(gone, member) > 0 && std::ranges::count(gone_before, member) > 0)
        return Status::error(
            Code::peer_failed,
            "{} is lost: its process has ended or has left the job; rank {} waited for it {:.1f} s {}",
            name_of({member}), rank_, waited(), purpose);
    }
    gone_before = gone;
    if (interrupted())
      return Status::error(Code::aborted, "rank {} was interrupted after {:.1f} s {} for {}", rank_, waited(),
                           purpose, name_of(missing));
    if (deadline.passed())
      return Status::error(Code::timeout, "rank {} waited {:.1f} s {} for {} of {} members: not there", rank_,
                           waited(), purpose, name_of(missing), members.size());
    if (notice_given || waited() * 1000 < static_cast<double>(config_.late_notice_ms)) continue;
    notice_given = true;
    log::warning("rank {} has waited {:.0f} s {} for {}", rank_, waited(), purpose, name_of(missing));
  }
}

}  // namespace wia
