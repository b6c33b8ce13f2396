#include "communicator/communicator.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "base/fork.hpp"
#include "base/log.hpp"
#include "communicator/connect.hpp"
#include "transport/shm_endpoint.hpp"

namespace wia {
namespace {

// Nodes are numbered in the order in which they appear.
Group group_of(const World& world, const std::vector<int>& members) {
  Group group{static_cast<int>(members.size()), {}, units_among(world.units(), members)};
  std::map<int, int> numbers;
  for (const int member : members)
    group.nodes.push_back(
        numbers.try_emplace(world.node(member), static_cast<int>(numbers.size())).first->second);
  return group;
}

}  // namespace

Communicator::Communicator(std::shared_ptr<World> world, std::vector<int> members, int rank, std::string name)
    : world_(std::move(world)),
      wait_policy_(world_->wait_policy()),
      late_notice_ms_(world_->config().late_notice_ms),
      members_(std::move(members)),
      rank_(rank),
      name_(std::move(name)),
      staging_bytes_(world_->config().staging_bytes ? world_->config().staging_bytes
                                                    : ShmOptions{}.staging_bytes),
      slice_bytes_(world_->config().slice_bytes ? world_->config().slice_bytes : kUsualSlice),
      dispatcher_(group_of(*world_, members_), world_->choosing().tuning, world_->choosing().selection),
      corrects_(world_->choosing().correct_online && world_->choosing().tuning),
      timeout_ms_(world_->config().timeout_ms) {
  deterministic_ = world_->config().deterministic;
}

Result<std::shared_ptr<Communicator>> Communicator::create(std::shared_ptr<World> world,
                                                           std::vector<int> members, int rank,
                                                           const std::string& name,
                                                           std::optional<int64_t> timeout_ms) {
  std::shared_ptr<Communicator> made(new Communicator(std::move(world), std::move(members), rank, name));
  if (timeout_ms) made->timeout_ms_ = *timeout_ms;
  WIA_RETURN_IF_ERROR(made->set_algorithms(made->world_->config().algorithms));
  const Deadline deadline = Deadline::after_ms(made->timeout_ms_)
                                .earlier(Deadline::after_ms(made->world_->config().init_timeout_ms));
  auto endpoint = connect(*made->world_, made->members_, rank, name, made->staging_bytes_, deadline);
  if (!endpoint) return endpoint.take_status();
  made->endpoint_ = std::move(endpoint.value());
  made->execution_ = std::make_unique<Execution>(*made->endpoint_);
  if (made->world_->config().strict) made->execution_->confirm_all();
  made->transfers_ = std::make_unique<PointToPoint>(*made->endpoint_);
  log::info("communicator {}: rank {} of {}, {} KiB of shared memory for each rank", name, rank, made->size(),
            made->endpoint_->shared_bytes() / 1024);
  return made;
}

Communicator::~Communicator() { destroy(); }

Result<std::shared_ptr<Communicator>> Communicator::create_sub(const std::vector<int>& ranks) {
  WIA_RETURN_IF_ERROR(status());
  if (ranks.empty())
    return Status(Code::invalid_argument, "ranks is empty; a communicator needs at least one rank");
  std::set<int> seen;
  for (const int r : ranks) {
    if (r < 0 || r >= size())
      return Status::error(Code::invalid_argument, "ranks holds {}; legal are 0 to {}", r, size() - 1);
    if (!seen.insert(r).second) return Status::error(Code::invalid_argument, "ranks holds {} twice", r);
  }
  const auto mine = std::find(ranks.begin(), ranks.end(), rank_);
  if (mine == ranks.end())
    return Status::error(Code::invalid_argument, "rank {} is not in ranks ({}); only members call this",
                         rank_, fmt::join(ranks, ", "));
  std::vector<int> members;
  for (const int r : ranks) members.push_back(members_[static_cast<size_t>(r)]);
  int number;
  {
    std::lock_guard lock(naming_);
    number = sub_counters_[ranks]++;
  }
  // Members list the same ranks for the n-th time: the same name, without a word between them.
  const std::string name = fmt::format("{}/{}#{}", name_, fmt::join(ranks, "."), number);
  return create(world_, std::move(members), static_cast<int>(mine - ranks.begin()), name, timeout_ms_);
}

Result<std::shared_ptr<Communicator>> Communicator::split(int color, int key) {
  WIA_RETURN_IF_ERROR(status());
  int number;
  {
    std::lock_guard lock(naming_);
    number = split_counter_++;
  }
  auto answers = world_->exchange(fmt::format("split/{}/{}", name_, number), members_, rank_,
                                  fmt::format("{} {}", color, key), "for the split of " + name_,
                                  Deadline::after_ms(timeout_ms_));
  if (!answers) return answers.take_status();
  if (color < 0) return std::shared_ptr<Communicator>();
  std::vector<std::pair<int, int>> order;  // key, rank
  for (int r = 0; r < size(); ++r) {
    int its_color = -1, its_key = 0;
    if (std::sscanf(answers.value()[static_cast<size_t>(r)].c_str(), "%d %d", &its_color, &its_key) == 2 &&
        its_color == color)
      order.emplace_back(its_key, r);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> ranks;
  for (const auto& [its_key, r] : order) ranks.push_back(r);
  return create_sub(ranks);
}

// --- State ------------------------------------------------------------------------------------

Status Communicator::set_timeout(int64_t milliseconds) {
  if (milliseconds == 0)
    return Status(Code::invalid_argument, "timeout is 0 ms; legal are 1 and more, or negative for no limit");
  timeout_ms_ = milliseconds;
  return {};
}

void Communicator::set_deterministic(bool on) {
  std::lock_guard lock(mutex_);
  deterministic_ = on;
  ++settings_;
}

Status Communicator::set_algorithm(Collective collective, const std::string& name) {
  Tactic tactic;
  if (name != "auto") {
    auto found = parse_tactic(collective, name);
    if (!found) return found.take_status();
    tactic = found.value();
  }
  std::lock_guard lock(mutex_);
  forced_[static_cast<int>(collective)] = tactic;
  ++settings_;
  return {};
}

// "all_reduce=ring,broadcast=knomial"
Status Communicator::set_algorithms(const std::string& list) {
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string item = list.substr(begin, end - begin);
    const size_t equals = item.find('=');
    const auto collective = parse_collective(item.substr(0, equals));
    if (equals == std::string::npos || !collective)
      return Status::error(Code::invalid_argument, "WIA_ALGORITHM holds '{}'; wanted is COLLECTIVE=ALGORITHM",
                           item);
    WIA_RETURN_IF_ERROR(set_algorithm(*collective, item.substr(equals + 1)));
    begin = end + 1;
  }
  return {};
}

Status Communicator::status() {
  if (in_forked_child()) return forked_status();
  if (mutex_.try_lock()) {  // else somebody drives it, and looks
    std::lock_guard lock(mutex_, std::adopt_lock);
    if (Status trouble = look_for_trouble(); !trouble.ok()) static_cast<void>(fail(std::move(trouble), true));
  }
  if (usable_.load(std::memory_order_acquire)) return {};
  std::lock_guard lock(mutex_);
  return failure_.copy();
}

size_t Communicator::shared_bytes() const {
  std::lock_guard lock(mutex_);
  return endpoint_ ? endpoint_->shared_bytes() * members_.size() : 0;
}

const char* Communicator::transport() const {
  const auto shared = std::count_if(members_.begin(), members_.end(),
                                    [this](int member) { return world_ && world_->heap(member) != nullptr; });
  if (shared == size()) return "shared memory";
  const bool by_ofi = world_ && world_->config().transport == "ofi";
  if (shared > 1) return by_ofi ? "shared memory and ofi" : "shared memory and tcp";
  return by_ofi ? "ofi" : "tcp";
}

void Communicator::abort(const std::string& reason) { end(Status(Code::aborted, reason), true); }

void Communicator::destroy() {
  if (in_forked_child()) {  // the memory belongs to the parent
    static_cast<void>(endpoint_.release());
    return;
  }
  end(Status::error(Code::destroyed, "the communicator {} has been destroyed", name_), false);
  for (const auto& [choice, request] : std::exchange(told_, {})) free(request);
  std::lock_guard lock(mutex_);
  transfers_.reset();
  execution_.reset();
  endpoint_.reset();
  world_.reset();  // the last communicator to go closes the connection to the store
}

// Ends everything under way. Whoever waits leaves at once, so the lock is free soon.
void Communicator::end(Status reason, bool tell_peers) {
  interrupted_.store(true, std::memory_order_release);
  ShmHeap::existing()->header().doorbell.ring();
  {
    std::lock_guard lock(mutex_);
    static_cast<void>(fail(std::move(reason), tell_peers));
  }
  if (registered_.exchange(false)) ProgressThread::instance().remove(this);
}

// The first reason wins.
Status Communicator::fail(Status reason, bool tell_peers) {
  if (failure_.ok()) {
    if (tell_peers && endpoint_) endpoint_->announce_failure(reason.code(), reason.text());
    failure_ = std::move(reason);
    usable_.store(false, std::memory_order_release);
  }
  if (transfers_) transfers_->fail(failure_);
  std::vector<Request*> ended(queue_.begin(), queue_.end());
  if (active_) ended.push_back(active_);
  ended.insert(ended.end(), moving_.begin(), moving_.end());
  queue_.clear();
  moving_.clear();
  active_ = nullptr;
  for (Request* request : ended) complete(*request, failure_.copy());
  return failure_.copy();
}

}  // namespace wia
