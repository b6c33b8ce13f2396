// How long the chain of messages is that a call takes.
#pragma once
#include <span>

#include "schedule/schedule.hpp"

namespace wia {

// The most messages that must follow one another until all ranks are done, if computing and copying took no
// time. Requires schedules that are free of deadlock (verify.hpp).
int count_rounds(std::span<const Schedule> schedules);

}  // namespace wia
