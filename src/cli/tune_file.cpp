#include "cli/tune_file.hpp"

#include <errno.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/machine.hpp"
#include "base/parse.hpp"
#include "cli/machine.hpp"

namespace wia::cli {
namespace {

[[noreturn]] void refuse_output(const std::string& why) { throw CLI::ValidationError("-o", why); }

}  // namespace

std::string machine_name() { return fmt::format("{} ({})", host_name(), cpu_model()); }

JobConditions conditions_of(int ranks, const wia_communicator_t* world) {
  JobConditions conditions = {{"ranks", std::to_string(ranks)}};
  if (!world) return conditions;
  conditions["nodes"] = std::to_string(wia_communicator_num_nodes(world));
  conditions["transport"] = wia_communicator_transport(world);
  return conditions;
}

Tuning read_before(const std::string& path, bool fresh, const JobConditions& conditions) {
  namespace files = std::filesystem;
  if (path == "-") return {};
  std::error_code ignored;
  const files::path folder = files::path(path).parent_path();
  if (files::is_directory(path, ignored)) refuse_output(fmt::format("{} is a directory", path));
  if (access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
    refuse_output(fmt::format("{} cannot be written: {}", path, strerror(errno)));
  if (fresh || !files::is_regular_file(path, ignored)) return {};
  auto before = read_tuning(path);
  if (!before) refuse_output(before.status().text() + " (--fresh begins anew)");
  const auto must_be = [&](const std::string& what, const std::string& there, const std::string& here) {
    if (there != here)
      refuse_output(fmt::format("{} is of {} \"{}\", here it is \"{}\" (--fresh begins anew)", path, what,
                                there, here));
  };
  must_be("machine", before->machine, machine_name());
  for (const auto& [what, here] : conditions) must_be(what, before->conditions[what], here);
  for (const CollectiveTuning& one : before->collectives)
    for (const auto& cell : one.cells)
      must_be("ranks", fmt::format("{:g}", cell.call.ranks), conditions.at("ranks"));
  return std::move(*before);
}

double seconds_in(const Tuning& tuning) {
  const auto found = tuning.conditions.find("seconds");
  const auto ms = found == tuning.conditions.end() ? std::nullopt : parse_seconds(found->second);
  return ms ? static_cast<double>(*ms) * 1e-3 : 0;
}

}  // namespace wia::cli
