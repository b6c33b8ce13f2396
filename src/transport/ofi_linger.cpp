#include "transport/ofi_linger.hpp"

#include <deque>
#include <mutex>

#include "base/deadline.hpp"

namespace wia {
namespace {

constexpr int64_t kLingerMs = 5'000;
constexpr size_t kMost = 16;

struct Lingering {
  Deadline until;
  std::vector<std::unique_ptr<OfiPort>> ports;
};

std::mutex mutex;
// Not closed when the process ends: libfabric may have ended before.
std::deque<Lingering>& lingering() {
  static auto& all = *new std::deque<Lingering>;
  return all;
}

}  // namespace

void linger(std::vector<std::unique_ptr<OfiPort>> ports) {
  {
    std::lock_guard lock(mutex);
    lingering().push_back({Deadline::after_ms(kLingerMs), std::move(ports)});
  }
  close_lingering();
}

void close_lingering() {
  std::lock_guard lock(mutex);
  while (!lingering().empty() && (lingering().size() > kMost || lingering().front().until.passed()))
    lingering().pop_front();
}

}  // namespace wia
