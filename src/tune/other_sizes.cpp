#include "tune/other_sizes.hpp"

#include <algorithm>

namespace wia {
namespace {

constexpr double kLost = 3;  // times the best
// Of a line through one point alone: 1 GB/s. The steepest that is believed: 10 GB/s.
constexpr double kFewUsPerByte = 1e-3, kLeastUsPerByte = 1e-4;

bool has(const MeasuredCell& cell, const std::string& name) {
  if (name.empty()) return cell.measured();
  const MeasuredClass* one = cell.find(name);
  return one && !one->rounds_us.empty();
}

}  // namespace

const MeasuredCell* neighbour(const std::vector<MeasuredCell>& cells, const MeasuredCell& cell, bool above,
                              const std::string& name) {
  const auto on_this_side = [&](double bytes, double of) { return above ? bytes > of : bytes < of; };
  const MeasuredCell* nearest = nullptr;
  for (const MeasuredCell& other : cells)
    if (other.collective == cell.collective && on_this_side(other.call.bytes, cell.call.bytes) &&
        (!nearest || on_this_side(nearest->call.bytes, other.call.bytes)) && has(other, name))
      nearest = &other;
  return nearest;
}

bool lost_around(const std::vector<MeasuredCell>& cells, const MeasuredCell& cell, const MeasuredClass& one) {
  const MeasuredCell *below = neighbour(cells, cell, false, one.name),
                     *above = neighbour(cells, cell, true, one.name);
  if (!below && above) below = neighbour(cells, *above, true, one.name);
  if (!above && below) above = neighbour(cells, *below, false, one.name);
  const auto lost = [&](const MeasuredCell* there) {
    return there && there->find(one.name)->median_us() > kLost * there->best_us();
  };
  return lost(below) && lost(above);
}

double expected_us(const std::vector<MeasuredCell>& cells, const MeasuredCell& cell,
                   const MeasuredClass& one) {
  if (!one.rounds_us.empty()) return one.median_us();
  const auto time_at = [&](const MeasuredCell& there) {
    return has(there, one.name) ? there.find(one.name)->median_us() : there.best_us();
  };
  const MeasuredCell* below = neighbour(cells, cell, false);
  if (!below) {
    const MeasuredCell* above = neighbour(cells, cell, true);
    return above ? time_at(*above) : kUnknown;
  }
  const double time = time_at(*below), bytes = below->call.bytes;
  double us_per_byte = std::min(time / std::max(bytes, 1.0), kFewUsPerByte);
  if (const MeasuredCell* further = neighbour(cells, *below, false))
    us_per_byte = std::max((time - time_at(*further)) / (bytes - further->call.bytes), kLeastUsPerByte);
  return time + us_per_byte * (cell.call.bytes - bytes);
}

bool known_to_fit(const std::vector<MeasuredCell>& cells, Collective collective, const std::string& name) {
  return std::any_of(cells.begin(), cells.end(), [&](const MeasuredCell& cell) {
    return cell.collective == collective && has(cell, name);
  });
}

}  // namespace wia
