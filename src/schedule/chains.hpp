// How long the chains are in which one step of a collective waits for another, over all ranks. Pure.
#pragma once
#include <functional>
#include <span>

#include "schedule/schedule.hpp"

namespace wia {

// A cost of a step of a rank.
using StepCost = std::function<double(int rank, const Step& step)>;

// The most that steps which must follow one another cost together, if nothing else kept them waiting.
// `message`: from the send to the arrival, of a recv and recv_reduce (from step.peer). `work`: what any other
// step than a send, and what has arrived, takes. Requires the schedules of all ranks, free of deadlock
// (verify/verify.hpp).
double longest_chain(std::span<const Schedule> schedules, const StepCost& message, const StepCost& work);

// The most messages that must follow one another until all ranks are done.
int count_rounds(std::span<const Schedule> schedules);

}  // namespace wia
