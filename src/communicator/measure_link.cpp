#include "communicator/measure_link.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "base/deadline.hpp"
#include "base/machine.hpp"
#include "transport/shm_heap.hpp"

namespace wia {
namespace {

constexpr int kTag = std::numeric_limits<int>::max();  // far from those of users
constexpr uint64_t kSizes[] = {1ull << 20, 10ull << 20, 100ull << 20, 1ull << 30};
constexpr uint64_t kSmall = 8;
constexpr int64_t kLeastRounds = 20, kMostRounds = 1000;
constexpr int64_t kBatches = 5, kLeastMessages = 3, kMostMessages = 100;

// What the source asks of the target: to send `repetitions` times a message of so many bytes back, or to take
// batches of `messages` and confirm each batch.
struct Order {
  enum Kind : uint64_t { end, echo, take } kind;
  uint64_t bytes, messages, repetitions;
};

// Memory that the peer can reach, every page of it touched. Stays while its size does.
class Space {
 public:
  Space() = default;
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  ~Space() { release(); }
  // False: no memory. Both ranks of a pair take as much, and the machine has other work.
  bool resize(uint64_t bytes) {
    if (data_ && bytes == bytes_) return true;
    release();
    auto heap = ShmHeap::instance();
    if (!heap || (bytes > kSizes[0] && bytes > memory().available.value_or(UINT64_MAX) / 8)) return false;
    auto made = heap.value()->allocate(bytes);
    if (!made) return false;
    data_ = made.value();
    bytes_ = bytes;
    std::memset(data_, 1, bytes);
    return true;
  }
  void* data() const { return data_; }

 private:
  void release() {
    if (data_) ShmHeap::existing()->free(data_);
    data_ = nullptr;
  }
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

class PairWire {
 public:
  PairWire(Communicator& communicator, int peer) : communicator_(communicator), peer_(peer) {}
  // Both are there, and the way between them is open.
  Status meet() {
    uint64_t own = 0, other = 0;
    return communicator_.exchange(&own, sizeof own, peer_, &other, sizeof other, peer_, kTag);
  }
  Status send(const void* data, size_t bytes) {
    return communicator_.transfer(true, const_cast<void*>(data), bytes, peer_, kTag, nullptr);
  }
  Status receive(void* data, size_t bytes) {
    return communicator_.transfer(false, data, bytes, peer_, kTag, nullptr);
  }

 private:
  Communicator& communicator_;
  const int peer_;
};

// The times of the repetitions, in ns; empty: no memory.
using Times = std::vector<int64_t>;
using Run = std::function<Result<Times>(const Order&)>;

// --- To another rank ----------------------------------------------------------------------------------

Status ask(PairWire& wire, const Order& order, void* data) {
  uint64_t confirmed = 0;
  if (order.kind == Order::echo) {
    WIA_RETURN_IF_ERROR(wire.send(data, order.bytes));
    return wire.receive(data, order.bytes);
  }
  for (uint64_t i = 0; i < order.messages; ++i) WIA_RETURN_IF_ERROR(wire.send(data, order.bytes));
  return wire.receive(&confirmed, sizeof confirmed);
}

Status obey(PairWire& wire, const Order& order, void* data) {
  if (order.kind == Order::echo) {
    WIA_RETURN_IF_ERROR(wire.receive(data, order.bytes));
    return wire.send(data, order.bytes);
  }
  for (uint64_t i = 0; i < order.messages; ++i) WIA_RETURN_IF_ERROR(wire.receive(data, order.bytes));
  return wire.send(&order.messages, sizeof order.messages);
}

Result<Times> run_with_peer(PairWire& wire, Space& space, const Order& order) {
  Times times;
  if (!space.resize(order.bytes)) return times;
  WIA_RETURN_IF_ERROR(wire.send(&order, sizeof order));
  uint64_t ready = 0;
  WIA_RETURN_IF_ERROR(wire.receive(&ready, sizeof ready));
  for (uint64_t i = 0; ready && i < order.repetitions; ++i) {
    const int64_t began = now_ns();
    WIA_RETURN_IF_ERROR(ask(wire, order, space.data()));
    times.push_back(now_ns() - began);
  }
  return times;
}

// --- To itself ----------------------------------------------------------------------------------------

Result<Times> run_alone(Space& from, Space& to, const Order& order) {
  Times times;
  if (!from.resize(order.bytes) || !to.resize(order.bytes)) return times;
  const uint64_t copies = order.kind == Order::echo ? 2 : order.messages;  // there and back
  for (uint64_t i = 0; i < order.repetitions; ++i) {
    const int64_t began = now_ns();
    for (uint64_t copy = 0; copy < copies; ++copy) {
      std::memcpy(to.data(), from.data(), order.bytes);
      asm volatile("" ::: "memory");  // none is left out
    }
    times.push_back(now_ns() - began);
  }
  return times;
}

// --- What is measured ---------------------------------------------------------------------------------

// The figure of the times, its value the median in ns.
Figure median_of(Times times, const Order& order, const char* what) {
  std::sort(times.begin(), times.end());
  const auto quartile = [&](size_t q) { return static_cast<double>(times[q * (times.size() - 1) / 4]); };
  Figure figure;
  figure.value = quartile(2);
  figure.evidence = Evidence::measured;
  figure.source = what;
  figure.bytes = order.bytes;
  figure.repetitions = static_cast<int>(order.messages * times.size());
  figure.when = utc_now();
  figure.spread = quartile(2) > 0 ? (quartile(3) - quartile(1)) / quartile(2) : 0;
  return figure;
}

Result<Figure> measure_latency(const Run& run, int64_t budget_ns) {
  Order order = {Order::echo, kSmall, 1, kLeastRounds};
  auto times = run(order);  // warm-up
  if (!times) return times.take_status();
  if (times->empty()) return Figure::unknown("no memory to measure it with");
  order.repetitions = static_cast<uint64_t>(
      std::clamp(budget_ns / 10 / std::max<int64_t>(times->back(), 1), kLeastRounds, kMostRounds));
  times = run(order);
  if (!times) return times.take_status();
  Figure figure = median_of(std::move(*times), order, "half the median round trip");
  *figure.value /= 2 * 1e3;
  return figure;
}

Result<Figure> measure_bandwidth(const Run& run, uint64_t largest, int64_t budget_ns) {
  Figure best = Figure::unknown("no memory to measure it with");
  const int64_t end = now_ns() + budget_ns;
  double ns_per_byte = 0;
  for (const uint64_t size : kSizes) {
    const uint64_t bytes = std::min(size, largest);
    const double expected = ns_per_byte * static_cast<double>(bytes);
    if (best.value &&
        (size > largest || expected * (2 + kLeastMessages) > static_cast<double>(end - now_ns())))
      break;
    Order order = {Order::take, bytes, 1, 2};
    auto times = run(order);  // warm-up
    if (!times) return times.take_status();
    if (times->empty()) break;
    const int64_t one = std::max<int64_t>(times->back(), 1);
    ns_per_byte = static_cast<double>(one) / static_cast<double>(bytes);
    const int64_t messages = std::clamp((end - now_ns()) / 2 / one, kLeastMessages, kMostMessages);
    order.repetitions = static_cast<uint64_t>(std::min(messages, kBatches));
    order.messages = static_cast<uint64_t>(messages) / order.repetitions;
    times = run(order);
    if (!times) return times.take_status();
    if (times->empty()) break;
    Figure figure = median_of(std::move(*times), order, "messages one way, best of the sizes");
    *figure.value = static_cast<double>(bytes * order.messages) / std::max(*figure.value, 1.0);
    if (figure.value > best.value) best = std::move(figure);
  }
  return best;
}

// Those that sent at least a tenth of `bytes` since `before`.
std::vector<std::string> carriers(const std::vector<Nic>& nics,
                                  const std::vector<std::optional<uint64_t>>& before, uint64_t bytes) {
  std::vector<std::string> names;
  for (size_t i = 0; i < nics.size(); ++i)
    if (const auto now = sent_bytes(nics[i]); now && before[i] && *now - *before[i] >= bytes / 10)
      names.push_back(nics[i].name);
  return names;
}

Status measure(const Run& run, const LinkLimits& limits, const std::vector<Nic>& nics, Link* link) {
  const int64_t budget_ns = std::max<int64_t>(limits.budget_ms, 1) * 1'000'000;
  auto latency = measure_latency(run, budget_ns);
  if (!latency) return latency.take_status();
  link->latency = std::move(*latency);
  std::vector<std::optional<uint64_t>> before;
  for (const Nic& nic : nics) before.push_back(sent_bytes(nic));
  uint64_t sent = 0;
  const Run counted = [&](const Order& order) {
    sent += order.bytes * order.messages * order.repetitions;
    return run(order);
  };
  auto bandwidth = measure_bandwidth(counted, std::max(limits.largest_bytes, kSmall), budget_ns);
  if (!bandwidth) return bandwidth.take_status();
  link->bandwidth = std::move(*bandwidth);
  link->nics = carriers(nics, before, sent);
  return {};
}

}  // namespace

Result<Link> measure_link(Communicator& communicator, int target, const std::vector<Nic>& nics,
                          const LinkLimits& limits) {
  Link link;
  link.source = communicator.rank(), link.target = target;
  Space space, copy;
  if (target == communicator.rank()) {
    WIA_RETURN_IF_ERROR(
        measure([&](const Order& order) { return run_alone(space, copy, order); }, limits, {}, &link));
    return link;
  }
  PairWire wire(communicator, target);
  WIA_RETURN_IF_ERROR(wire.meet());
  WIA_RETURN_IF_ERROR(
      measure([&](const Order& order) { return run_with_peer(wire, space, order); }, limits, nics, &link));
  const Order end = {Order::end, 0, 0, 0};
  WIA_RETURN_IF_ERROR(wire.send(&end, sizeof end));
  return link;
}

Status answer_link(Communicator& communicator, int source) {
  PairWire wire(communicator, source);
  WIA_RETURN_IF_ERROR(wire.meet());
  Space space;
  for (;;) {
    Order order{};
    WIA_RETURN_IF_ERROR(wire.receive(&order, sizeof order));
    if (order.kind == Order::end) return {};
    const uint64_t ready = space.resize(order.bytes);
    WIA_RETURN_IF_ERROR(wire.send(&ready, sizeof ready));
    for (uint64_t i = 0; ready && i < order.repetitions; ++i)
      WIA_RETURN_IF_ERROR(obey(wire, order, space.data()));
  }
}

}  // namespace wia
