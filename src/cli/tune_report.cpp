#include "cli/tune_report.hpp"

#include <fmt/format.h>

namespace wia::cli {
namespace {

std::string percent(const Spread& spread) {
  return fmt::format("{:5.1f} +- {:4.1f}", 100 * spread.mean, 100 * spread.deviation);
}

std::string way_text(const WayReport& way) {
  const Spread regret = spread_of(way.splits, &Score::regret);
  std::string line = fmt::format("  {:<18} {:>13} {:>13} {:>9.3f} {:>7.3f} {:>7.3f} {:>9.2f}", way.name,
                                 percent(spread_of(way.splits, &Score::accuracy)),
                                 percent(spread_of(way.splits, &Score::accuracy_within)),
                                 geometric_mean(way.splits, &Score::regret), regret.least, regret.most,
                                 spread_of(way.splits, &Score::worst_regret).most);
  if (way.extrapolation)
    line += fmt::format("   {:>6.1f} {:>6.1f} {:>7.3f} {:>8.2f}", 100 * way.extrapolation->accuracy,
                        100 * way.extrapolation->accuracy_within, way.extrapolation->regret,
                        way.extrapolation->worst_regret);
  return line + "\n";
}

Json spread_json(const WayReport& way, double Score::*figure) {
  const Spread spread = spread_of(way.splits, figure);
  return {
      {"mean", spread.mean}, {"deviation", spread.deviation}, {"least", spread.least}, {"most", spread.most}};
}

Json way_json(const WayReport& way) {
  Json json = {{"way", way.name},
               {"accuracy", spread_json(way, &Score::accuracy)},
               {"accuracy_within_5_percent", spread_json(way, &Score::accuracy_within)},
               {"regret", spread_json(way, &Score::regret)},
               {"worst_regret", spread_json(way, &Score::worst_regret)},
               {"extrapolation", nullptr}};
  json["regret"]["geometric_mean"] = geometric_mean(way.splits, &Score::regret);
  if (way.extrapolation)
    json["extrapolation"] = {{"accuracy", way.extrapolation->accuracy},
                             {"accuracy_within_5_percent", way.extrapolation->accuracy_within},
                             {"regret", way.extrapolation->regret},
                             {"worst_regret", way.extrapolation->worst_regret}};
  return json;
}

}  // namespace

std::string report_header(const ReportOptions& options) {
  return fmt::format(
      "A cell is a call (machine, collective and all that is known of its size and ranks); the time of a "
      "class in\n"
      "it is the median over all its rows, the runs of all run sets together. Regret is the time of the "
      "choice /\n"
      "the time of the best class of the cell. {} splits: a fifth of the cells, stratified by the best "
      "class, is\n"
      "held out, and everything is learned and its parameters chosen on the others alone. Accuracy in "
      "percent,\n"
      "mean +- standard deviation over the splits; within 5 %: the choice takes at most 5 % longer than the "
      "best.\n"
      "Regret is the geometric mean over cells and splits, with the least and most of a split; worst: of any "
      "cell.\n",
      options.splits);
}

std::string report_text(const CellTable& table, const TableReport& report) {
  std::string text = fmt::format("\n{} {}: {} cells of {} rows, {} run sets; {} held out; classes: {}\n",
                                 table.machine, name_of(table.collective), report.cells, table.rows,
                                 table.run_sets, report.held_out, fmt::join(table.classes, ", "));
  if (table.single_cells > 0)
    text += fmt::format("  left out: {} cells where one class alone was measured\n", table.single_cells);
  text += fmt::format("  {:<18} {:>13} {:>13} {:>9} {:>7} {:>7} {:>9}", "", "accuracy", "within 5 %",
                      "regret", "least", "most", "worst");
  if (report.extrapolated_cells > 0)
    text += fmt::format("   to {:.0f} ranks ({} cells): accuracy, within, regret, worst",
                        report.extrapolated_ranks, report.extrapolated_cells);
  text += "\n";
  for (const WayReport& way : report.ways) text += way_text(way);
  return text;
}

Json report_json(const std::vector<CellTable>& tables, const std::vector<TableReport>& reports,
                 const ReportOptions& options) {
  Json json = {{"schema", "wia.tune-report/1"},
               {"splits", options.splits},
               {"seed", options.seed},
               {"tables", Json::array()}};
  for (size_t i = 0; i < tables.size(); ++i) {
    Json& table = json["tables"].emplace_back();
    table["machine"] = tables[i].machine;
    table["collective"] = name_of(tables[i].collective);
    table["classes"] = tables[i].classes;
    table["rows"] = tables[i].rows;
    table["run_sets"] = tables[i].run_sets;
    table["cells"] = reports[i].cells;
    table["held_out"] = reports[i].held_out;
    table["extrapolated_ranks"] = reports[i].extrapolated_ranks;
    table["extrapolated_cells"] = reports[i].extrapolated_cells;
    table["ways"] = Json::array();
    for (const WayReport& way : reports[i].ways) table["ways"].push_back(way_json(way));
  }
  return json;
}

std::string tuning_text(const Tuning& tuning) {
  std::string text = fmt::format("machine {}\n", tuning.machine);
  for (const auto& [name, value] : tuning.conditions) text += fmt::format("  {}: {}\n", name, value);
  for (const CollectiveTuning& one : tuning.collectives) {
    text += fmt::format("{}: {} cells; classes: {}\n", name_of(one.collective), one.cells.size(),
                        fmt::join(one.learned.classes, ", "));
    for (const LearnedModel::Svm& svm : one.learned.svms) {
      std::vector<std::string_view> features;
      for (const auto& range : svm.features) features.emplace_back(range.feature->name);
      text += fmt::format("  C-SVC, C {:g}, gamma {:g}, {} support vectors; features: {}\n", svm.cost,
                          svm.gamma, svm.vectors.size(), fmt::join(features, ", "));
    }
    text += fmt::format(
        "  cross-validation, {} folds, {} times: accuracy {:.1f} %, within 5 % {:.1f} %, regret {:.3f}\n",
        one.evidence.folds, one.evidence.repeats, 100 * one.evidence.accuracy,
        100 * one.evidence.accuracy_within, one.evidence.regret);
  }
  return text;
}

}  // namespace wia::cli
