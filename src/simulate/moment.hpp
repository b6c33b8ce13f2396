// A moment of simulated time, and where the time up to it went. Values.
//
// A moment follows the critical path: what waits for a message goes on from the message's moment, if that is
// later than its own. So the parts of the last moment of a call say what the call's time consists of.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace wia {

enum class Cost : uint8_t {
  latency,    // alpha, overheads of messages, beginning of the call
  nic,        // bytes at a NIC, the rank's own before it among them
  links,      // the same at links inside a node and between groups of nodes
  reduction,  // sums and copies
  waiting,    // for a port or a core that another rank uses
};
constexpr size_t kNumCosts = 5;

struct Moment {
  double us = 0;
  std::array<double, kNumCosts> parts{};  // add up to `us`

  void add(Cost cost, double duration) {
    us += duration;
    parts[static_cast<size_t>(cost)] += duration;
  }
  void wait_until(double time) {
    if (time > us) add(Cost::waiting, time - us);
  }
  void continue_from(const Moment& other) {
    if (other.us > us) *this = other;
  }
  double operator[](Cost cost) const { return parts[static_cast<size_t>(cost)]; }
};

}  // namespace wia
