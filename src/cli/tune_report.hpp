// Reports on learning, as text for people and as JSON (schema "wia.tune-report/1").
#pragma once
#include <string>
#include <vector>

#include "base/json.hpp"
#include "dispatch/tuning_file.hpp"
#include "tune/report.hpp"

namespace wia::cli {

// What a cell is and what the columns mean: above the tables.
std::string report_header(const ReportOptions& options);
std::string report_text(const CellTable& table, const TableReport& report);
Json report_json(const std::vector<CellTable>& tables, const std::vector<TableReport>& reports,
                 const ReportOptions& options);

// What is in a tuning file, in short.
std::string tuning_text(const Tuning& tuning);

}  // namespace wia::cli
