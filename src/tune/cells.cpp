#include "tune/cells.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/median.hpp"

namespace wia {
namespace {

// What tells calls apart. Unknown quantities, which all calls of a table share, are -1.
std::vector<double> key_of(const CallShape& call) {
  std::vector<double> key;
  for (const Quantity& quantity : call_quantities()) {
    const double value = call.*quantity.member;
    key.push_back(std::isnan(value) ? -1 : value);
  }
  return key;
}

CellTable table_of(const std::vector<const Timing*>& rows) {
  std::set<std::string> classes, run_sets;
  std::map<std::vector<double>, std::map<std::string, std::vector<double>>> times;
  std::map<std::vector<double>, CallShape> calls;
  for (const Timing* row : rows) {
    classes.insert(row->choice);
    run_sets.insert(row->run_set);
    const auto key = key_of(row->call);
    calls[key] = row->call;
    times[key][row->choice].push_back(row->seconds);
  }
  CellTable table;
  table.machine = rows.front()->machine;
  table.collective = rows.front()->collective;
  table.classes.assign(classes.begin(), classes.end());
  table.rows = rows.size();
  table.run_sets = run_sets.size();
  for (auto& [key, by_class] : times) {
    if (by_class.size() < 2) {
      ++table.single_cells;
      continue;
    }
    Cell cell{calls[key], {}};
    for (const std::string& name : table.classes) cell.seconds.push_back(median(by_class[name]));
    table.cells.push_back(std::move(cell));
  }
  return table;
}

}  // namespace

size_t Cell::best() const {
  size_t best = seconds.size();
  for (size_t c = 0; c < seconds.size(); ++c)
    if (measured(c) && (best == seconds.size() || seconds[c] < seconds[best])) best = c;
  return best;
}

double Cell::regret(size_t c) const { return seconds[c] / seconds[best()]; }

size_t CellTable::class_of(const std::string& name) const {
  return static_cast<size_t>(std::find(classes.begin(), classes.end(), name) - classes.begin());
}

std::vector<CellTable> cells_of(const TimingTable& timings) {
  std::map<std::pair<std::string, Collective>, std::vector<const Timing*>> groups;
  for (const Timing& row : timings.rows) groups[{row.machine, row.collective}].push_back(&row);
  std::vector<CellTable> tables;
  for (const auto& [key, rows] : groups) tables.push_back(table_of(rows));
  return tables;
}

}  // namespace wia
