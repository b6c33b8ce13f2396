#include "simgrid_ranks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>

namespace wia {
namespace {

namespace s4u = simgrid::s4u;
constexpr uint64_t kElement = 4;    // bytes: float32
constexpr size_t kOnTheirWay = 16;  // messages of one queue

s4u::Mailbox* mailbox(int from, int to, const Step& step) {
  return s4u::Mailbox::by_name(fmt::format("{}>{}:{}", from, to, step.tag));
}

// Work in nanoseconds, as hosts count it.
double work(uint64_t bytes, const Figure& gigabytes_per_second) {
  return gigabytes_per_second.value ? static_cast<double>(bytes) / *gigabytes_per_second.value : 0;
}
void work_for(double nanoseconds) {
  if (nanoseconds > 0) s4u::this_actor::execute(nanoseconds);
}

template <typename Rank, typename Condition>
void wait_until(Rank& rank, const Condition& holds) {
  if (holds()) return;
  const std::unique_lock lock(*rank.mutex);
  while (!holds()) rank.moved->wait(rank.mutex);
}

}  // namespace

// --- Queues ---------------------------------------------------------------------------------------

void MessageQueue::start(s4u::Host* host) {
  s4u::Actor::create("queue", host, [this] { run(); })->daemonize();
}

void MessageQueue::push(s4u::Mailbox* to, uint64_t bytes) {
  messages_.emplace_back(to, bytes);
  waiting_->release();
}

void MessageQueue::run() {
  static char payload;
  std::deque<s4u::CommPtr> travelling;
  for (;;) {
    waiting_->acquire();
    const auto [to, bytes] = messages_.front();
    messages_.pop_front();
    travelling.push_back(to->put_async(&payload, bytes));
    if (travelling.size() < kOnTheirWay) continue;
    travelling.front()->wait();
    travelling.pop_front();
  }
}

// --- Ranks ----------------------------------------------------------------------------------------

void ReplayedRanks::set_extents(uint32_t chunks) {
  const uint64_t count = call_.bytes / kElement;
  const auto ranks = static_cast<uint32_t>(call_.ranks);
  const Extents blocks = Extents::even(count, ranks), own = Extents::even(count / ranks, 1);
  input_ = output_ = blocks;
  if (call_.collective == Collective::all_reduce) input_ = output_ = Extents::even(count, chunks);
  if (call_.collective == Collective::all_gather) input_ = own;
  if (call_.collective == Collective::reduce_scatter) output_ = own;
  const uint64_t longest = std::max(input_.longest(), output_.longest());
  slice_elements_ = std::max<uint64_t>((longest + call_.slices - 1) / call_.slices, 1);
}

void ReplayedRanks::add(Schedule schedule) {
  if (ranks_.empty()) set_extents(schedule.output_chunks());
  Rank& rank = *ranks_.emplace_back(std::make_unique<Rank>(std::move(schedule)));
  rank.lanes.resize(static_cast<size_t>(rank.schedule.lanes()));
  for (int l = 0; l < rank.schedule.lanes(); ++l)
    for (const Step& step : rank.schedule.lane(l))
      if (step.wait_position > 0) rank.lanes[step.wait_lane].watched = true;
}

void ReplayedRanks::start(const std::vector<s4u::Host*>& hosts) {
  for (size_t r = 0; r < ranks_.size(); ++r) {
    for (MessageQueue& queue : ranks_[r]->queues) queue.start(hosts[r]);
    for (int l = 0; l < ranks_[r]->schedule.lanes(); ++l) {
      const auto actor = s4u::Actor::create("lane", hosts[r], [this, r, l] { run(static_cast<int>(r), l); });
      // Messages travel at once, whether their receiver waits already or not.
      for (const Step& step : ranks_[r]->schedule.lane(l))
        if (step.kind == Kind::recv || step.kind == Kind::recv_reduce)
          mailbox(step.peer, static_cast<int>(r), step)->set_receiver(actor);
    }
  }
}

uint64_t ReplayedRanks::bytes(const Step& step, uint32_t slice) const {
  const Extents& extents = step.extent.buffer() == Buffer::input ? input_ : output_;
  uint64_t elements = 0;
  for (uint32_t c = 0; c < step.chunks; ++c) {
    const uint64_t length = extents.length(step.extent.chunk() + c), begin = slice * slice_elements_;
    elements += begin >= length ? 0 : std::min(slice_elements_, length - begin);
  }
  return elements * kElement;
}

bool ReplayedRanks::may_begin(const Rank& rank, uint32_t slice) const {
  return std::all_of(rank.lanes.begin(), rank.lanes.end(),
                     [&](const Lane& lane) { return slice < lane.slice + call_.window; });
}

void ReplayedRanks::run(int r, int l) {
  Rank& rank = *ranks_[static_cast<size_t>(r)];
  Lane& lane = rank.lanes[static_cast<size_t>(l)];
  for (; lane.slice < call_.slices;) {
    wait_until(rank, [&] { return may_begin(rank, lane.slice); });
    for (const Step& step : rank.schedule.lane(l)) {
      const Lane& other = rank.lanes[step.wait_lane];
      const auto ready = [&] {
        return step.wait_position == 0 || other.slice > lane.slice ||
               (other.slice == lane.slice && other.position >= step.wait_position);
      };
      wait_until(rank, ready);
      execute(r, step, lane.slice);
      ++lane.position;
      if (lane.watched) rank.moved->notify_all();
    }
    ++lane.slice;
    lane.position = 0;
    if (lane.watched || call_.slices > call_.window) rank.moved->notify_all();
  }
}

void ReplayedRanks::execute(int r, const Step& step, uint32_t slice) {
  const uint64_t size = bytes(step, slice);
  if (size == 0 && slice > 0) return;
  const double overhead = machine_.overhead_us.value.value_or(0) * 1e3;
  switch (step.kind) {
    case Kind::send:
      ++messages_;
      work_for(overhead);
      ranks_[static_cast<size_t>(r)]->queues[node_of(r) != node_of(step.peer)].push(
          mailbox(r, step.peer, step), size);
      break;
    case Kind::recv:
    case Kind::recv_reduce:
      mailbox(step.peer, r, step)->get<char>();
      work_for(overhead + (step.kind == Kind::recv_reduce ? work(size, machine_.reduce_GBps) : 0));
      break;
    case Kind::reduce:
      work_for(work(size, machine_.reduce_GBps));
      break;
    case Kind::copy:
      work_for(work(size, machine_.copy_GBps));
      break;
    case Kind::nop:
      break;
  }
}

}  // namespace wia
