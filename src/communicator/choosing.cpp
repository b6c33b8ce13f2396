#include "communicator/choosing.hpp"

#include <fmt/core.h>

#include <sstream>

#include "base/log.hpp"
#include "base/machine.hpp"

namespace wia {
namespace {

// The text: "auto 1 0 t.json" (selection, online, code of an error, path), then the file's text or the error.
constexpr size_t kMostBytes = size_t{1} << 20;  // that the store takes

Result<Tuning> usable_tuning(const std::string& path) {
  auto tuning = read_tuning(path);
  if (!tuning) return tuning.take_status();
  WIA_RETURN_IF_ERROR(check_tactics(tuning.value(), path));
  const auto cpu = tuning->conditions.find("cpu");
  if (cpu != tuning->conditions.end() && cpu->second != cpu_model())
    log::warning("WIA_TUNING: {} was measured on another machine ({}, here {}); it is used all the same",
                 path, cpu->second, cpu_model());
  return tuning;
}

// Nothing is chosen by the single rounds.
Tuning without_rounds(Tuning tuning) {
  for (CollectiveTuning& one : tuning.collectives)
    for (CollectiveTuning::Cell& cell : one.cells) cell.rounds_us.clear();
  return tuning;
}

}  // namespace

std::string choosing_text(const Config& config) {
  Status problem;
  std::string text;
  if (!config.tuning.empty()) {
    auto tuning = usable_tuning(config.tuning);
    if (!tuning) problem = tuning.take_status();
    if (tuning) text = to_text(without_rounds(std::move(tuning.value())));
  }
  const std::string head = fmt::format("{} {:d} {} {}\n", config.selector, config.correct_online,
                                       static_cast<int>(problem.code()), config.tuning);
  if (problem.ok() && head.size() + text.size() > kMostBytes)
    problem = Status::error(Code::invalid_argument, "{}: has {} bytes; {} at most can be used", config.tuning,
                            text.size(), kMostBytes);
  if (problem.ok()) return head + text;
  return fmt::format("{} {:d} {} {}\n{}", config.selector, config.correct_online,
                     static_cast<int>(problem.code()), config.tuning, problem.text());
}

Result<Choosing> choosing_from_text(const std::string& text) {
  std::istringstream head(text);
  std::string selector, path;
  int online = 0, code = 0;
  head >> selector >> online >> code;
  head.get();
  std::getline(head, path);
  const auto selection = parse_selection(selector);
  if (!head || !selection) return Status(Code::protocol, "rank 0 has told nothing about choosing algorithms");
  const std::string rest = text.substr(static_cast<size_t>(head.tellg()));
  if (code != 0) return Status::error(static_cast<Code>(code), "WIA_TUNING of rank 0: {}", rest);
  Choosing choosing{*selection, online == 1, nullptr};
  if (path.empty()) return choosing;
  auto tuning = tuning_from_text(rest, path);
  if (!tuning) return tuning.take_status();
  choosing.tuning = std::make_shared<const Tuning>(std::move(tuning.value()));
  return choosing;
}

}  // namespace wia
