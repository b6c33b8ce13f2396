#include "cli/bench_report.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <stdexcept>

#include "base/machine.hpp"
#include "cli/machine.hpp"

namespace wia::cli::bench {
namespace {

double bandwidth(const Cell& cell, const Measurement& measured) {  // GB/s
  return measured.median_us > 0 ? static_cast<double>(cell.bytes) / (measured.median_us * 1e3) : 0;
}

std::string op_of(const Cell& cell) { return cell.reduces() ? std::string(wia::name_of(cell.op)) : "none"; }

}  // namespace

Report::Report(const Options& options, const Plan& plan, const Meeting& meeting,
               const wia_communicator_t* world)
    : options_(options),
      plan_(plan),
      ranks_(meeting.ranks()),
      nodes_(wia_communicator_num_nodes(world)),
      transport_(wia_communicator_transport(world)),
      timing_(meeting.timing()),
      allowed_cpus_(meeting.allowed_cpus()),
      shown_(meeting.rank() == 0),
      out_(options.json == "-" ? stderr : stdout),
      on_terminal_(shown_ && isatty(STDERR_FILENO) != 0) {}

void Report::begin() const {
  if (!shown_) return;
  fmt::print(out_, "# wia {}, {} ranks on {} node{} ({}, {}), {} allowed CPUs, {}, {} buffers{}\n",
             wia_version(), ranks_, nodes_, nodes_ == 1 ? "" : "s", host_name(), cpu_model(), allowed_cpus_,
             transport_, options_.wia_memory ? "wia_alloc" : "ordinary",
             options_.in_place ? ", in place" : "");
  for (const std::string& note : plan_.notes) fmt::print(out_, "# {}\n", note);
  fmt::print(out_, "#{:>13} {:>11} {:>11} {:>11} {:>5} {:>4} {:>21} {:>11} {:>11} {:>10} {:>10} {:>7}\n",
             "collective", "size (B)", "count", "type", "op", "root", "algorithm", "median (us)", "p99 (us)",
             "algbw GB/s", "busbw GB/s", "#wrong");
  std::fflush(out_);
}

void Report::progress(size_t index) const {
  if (!on_terminal_) return;
  const Cell& cell = plan_.cells[index];
  fmt::print(stderr, "\r\033[K{} of {}: {} {} {}", index + 1, plan_.cells.size(), name_of(cell.kind),
             cell.bytes, cell.algorithm);
  std::fflush(stderr);
}

void Report::add(const Cell& cell, const Measurement& measured) {
  if (!shown_) return;
  if (on_terminal_) fmt::print(stderr, "\r\033[K");
  const double algbw = bandwidth(cell, measured), busbw = algbw * bus_factor(cell.kind, ranks_);
  fmt::print(out_,
             "{:>14} {:>11} {:>11} {:>11} {:>5} {:>4} {:>21} {:>11.2f} {:>11.2f} {:>10.3f} {:>10.3f} {:>7}\n",
             name_of(cell.kind), cell.bytes, cell.count, wia::name_of(cell.dtype), op_of(cell),
             cell.has_root() ? cell.root : -1, cell.algorithm, measured.median_us, measured.p99_us, algbw,
             busbw, options_.check ? std::to_string(measured.wrong) : "N/A");
  std::fflush(out_);
  results_.push_back({{"collective", name_of(cell.kind)},
                      {"algorithm", cell.algorithm},
                      {"ranks", ranks_},
                      {"bytes", cell.bytes},
                      {"count", cell.count},
                      {"dtype", wia::name_of(cell.dtype)},
                      {"op", op_of(cell)},
                      {"in_place", cell.in_place},
                      {"iterations", measured.iterations},
                      {"median_us", measured.median_us},
                      {"p99_us", measured.p99_us},
                      {"min_us", measured.min_us},
                      {"algbw_GBps", algbw},
                      {"busbw_GBps", busbw},
                      {"wrong", options_.check ? Json(measured.wrong) : Json(nullptr)}});
}

Json Report::conditions() const {
  return {{"host", host_name()},
          {"cpu", cpu_model()},
          {"allowed_cpus", allowed_cpus_},
          {"ranks", ranks_},
          {"nodes", nodes_},
          {"transport", transport_ + (options_.wia_memory ? ", buffers from wia_alloc" : "")},
          {"version", wia_version()},
          {"timing", timing_}};
}

void Report::finish() const {
  if (!shown_) return;
  if (!options_.json.empty())
    write_json({{"schema", "wia.bench/1"}, {"conditions", conditions()}, {"results", results_}},
               options_.json);
  if (std::fflush(out_) != 0 || std::ferror(out_)) throw std::runtime_error("the table could not be written");
}

}  // namespace wia::cli::bench
