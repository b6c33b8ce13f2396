#include "cli/tune_look.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "cli/bench_measure.hpp"

namespace wia::cli {

using bench::must;

bench::Cell tuned_call(Collective collective, uint64_t bytes, int ranks) {
  bench::Cell cell;
  cell.kind = collective;
  if (cell.is_barrier())
    cell.dtype = DType::uint8;
  else
    bench::set_size(&cell, bytes, ranks);
  return cell;
}

std::optional<double> Looker::look(const LookOrder& order) {
  return follow(
      meeting_.agree(fmt::format("{} {} {} {} {} {}", name_of(order.collective), order.bytes, order.name,
                                 order.first ? 1 : 0, order.look_ns, order.expected_ns)));
}

void Looker::finish() { meeting_.agree(std::string()); }

void Looker::follow() {
  while (true) {
    const std::string order = meeting_.agree(std::string());
    if (order.empty()) return;
    follow(order);
  }
}

std::optional<double> Looker::follow(const std::string& text) {
  std::istringstream words(text);
  std::string collective, name;
  uint64_t bytes = 0;
  bool first = false;
  int64_t look_ns = 0, expected_ns = 0;
  words >> collective >> bytes >> name >> first >> look_ns >> expected_ns;
  prepare(*parse_collective(collective), bytes);
  const wia_status_t set = wia_communicator_set_algorithm(world_, collective.c_str(), name.c_str());
  if (set != WIA_SUCCESS || (first && is_refused())) return std::nullopt;
  return time_ns(static_cast<double>(look_ns), static_cast<double>(expected_ns)) * 1e-3;
}

void Looker::prepare(Collective collective, uint64_t bytes) {
  if (buffers_ && cell_.kind == collective && cell_.bytes == bytes) return;
  buffers_.reset();
  cell_ = tuned_call(collective, bytes, meeting_.ranks());
  buffers_ = std::make_unique<bench::Buffers>(cell_, false, world_);
  buffers_->poison();
}

// A class that does not fit is refused by every rank before anything is sent.
bool Looker::is_refused() {
  const wia_status_t status = buffers_->call();
  const bool refused = status == WIA_ERROR_UNSUPPORTED || status == WIA_ERROR_INVALID_ARGUMENT;
  if (!refused) must(status);
  const uint64_t count = meeting_.sum(refused ? 1 : 0);
  if (count != 0 && count != static_cast<uint64_t>(meeting_.ranks()))
    throw std::runtime_error(wia_last_error_message());
  return refused;
}

double Looker::median_ns(int calls) {
  const std::vector<int64_t> times = bench::time_calls(*buffers_, meeting_, calls);
  return static_cast<double>(std::max<int64_t>(meeting_.agree(times[times.size() / 2]), 1));
}

// The first calls warm up, and tell how many are timed; of those that take as long as the look, one is. A
// first call that takes much longer than it should is no measure: something else came in between.
double Looker::time_ns(double look_ns, double expected_ns) {
  const auto fitting = [&](double call_ns, int most) {
    return static_cast<int>(std::clamp(look_ns / call_ns, 1.0, static_cast<double>(most)));
  };
  double call_ns = median_ns(1);
  if (call_ns > 2 * expected_ns) call_ns = std::min(call_ns, median_ns(1));
  if (call_ns >= look_ns) return call_ns;
  call_ns = median_ns(fitting(call_ns, 7));
  return median_ns(fitting(call_ns, kMostCallsOfLook));
}

}  // namespace wia::cli
