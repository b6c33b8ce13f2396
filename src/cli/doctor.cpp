// wia doctor: checks the installation and the machine, and says what to do about what it finds.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <linux/membarrier.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>

#include "base/config.hpp"
#include "base/environment.hpp"
#include "base/json.hpp"
#include "base/machine.hpp"
#include "base/wait.hpp"
#include "bootstrap/launch.hpp"
#include "cli/commands.hpp"
#include "cli/doctor_memory.hpp"
#include "cli/machine.hpp"
#include "dispatch/tactic.hpp"
#include "topology/nics.hpp"
#include "transport/ofi_wire.hpp"
#include "transport/shm_endpoint.hpp"
#include "wia/wia.h"

namespace wia::cli {
namespace {

struct Finding {
  bool serious;  // something does not work; else it could be faster
  std::string what, remedy;
};

class Examination {
 public:
  void fact(const std::string& name, const std::string& value) { facts_.emplace_back(name, value); }
  void problem(const std::string& what, const std::string& remedy) {
    findings_.push_back({true, what, remedy});
  }
  void advice(const std::string& what, const std::string& remedy) {
    findings_.push_back({false, what, remedy});
  }
  void setting(const Config::Item& item) { settings_.push_back(item); }
  bool works() const {
    return std::none_of(findings_.begin(), findings_.end(), [](const Finding& f) { return f.serious; });
  }

  void print() const {
    for (const auto& [name, value] : facts_) fmt::print("{:<22} {}\n", name, value);
    fmt::print("\n");
    for (const Config::Item& item : settings_)
      fmt::print("{:<22} {:<12} {:<12} {}\n", item.variable, item.value.empty() ? "\"\"" : item.value,
                 item.origin, item.meaning);
    fmt::print("\n");
    for (const Finding& f : findings_)
      fmt::print("{}: {}\n  -> {}\n", f.serious ? "problem" : "advice", f.what, f.remedy);
    if (findings_.empty()) fmt::print("all good\n");
  }
  Json json() const {
    Json facts = Json::object(), settings = Json::array(), findings = Json::array();
    for (const auto& [name, value] : facts_) facts[name] = value;
    for (const Config::Item& item : settings_)
      settings.push_back({{"variable", item.variable}, {"value", item.value}, {"origin", item.origin}});
    for (const Finding& f : findings_)
      findings.push_back(
          {{"kind", f.serious ? "problem" : "advice"}, {"what", f.what}, {"remedy", f.remedy}});
    return {{"schema", "wia.doctor/1"},
            {"works", works()},
            {"facts", facts},
            {"settings", settings},
            {"findings", findings}};
  }

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
  std::vector<Config::Item> settings_;
  std::vector<Finding> findings_;
};

std::string text_of(const std::optional<uint64_t>& bytes, const char* otherwise) {
  return bytes ? bytes_text(static_cast<double>(*bytes)) : otherwise;
}

void examine_machine(Examination& e) {
#if defined(__clang__)
  constexpr const char* kCompiler = "clang++ " __clang_version__;
#else
  constexpr const char* kCompiler = "g++ " __VERSION__;
#endif
#if defined(NDEBUG)
  constexpr const char* kAssertions = "without assertions";
#else
  constexpr const char* kAssertions = "with assertions";
#endif
  e.fact("version", wia_version());
  e.fact("build", fmt::format("{}, {}", kCompiler, kAssertions));
  e.fact("host", host_name());
  e.fact("CPU", cpu_model());
  e.fact("vector extensions", fmt::format("{}", fmt::join(vector_extensions(), " ")));
  e.fact("allowed CPUs", ranges_text(affinity()));
  const double quota = quota_cpus();
  e.fact("CPU quota", quota < 1e6 ? fmt::format("{:g} CPUs", quota) : "none");
  e.fact("largest cache", bytes_text(static_cast<double>(last_level_cache_bytes())));
  const Memory m = memory();
  e.fact("memory", fmt::format("{}, {} available, limit of the cgroup: {}", text_of(m.total, "unknown"),
                               text_of(m.available, "unknown"), text_of(m.cgroup_limit, "none")));
  if (quota < 1)
    e.advice(fmt::format("the cgroup allows only {:g} of a CPU", quota),
             "raise cpu.max, or expect waits of many ms");
}

void examine_limits(Examination& e) {
  struct Limit {
    const char* name;
    __rlimit_resource resource;
    rlim_t least;
    bool serious;  // the shared heap makes do with less, as long as it can be made
    const char* remedy;
  };
  static constexpr Limit kLimits[] = {
      {"open files", RLIMIT_NOFILE, 64, true, "raise it: ulimit -n 1024"},
      {"processes", RLIMIT_NPROC, 64, true, "raise it: ulimit -u 4096"},
      {"address space", RLIMIT_AS, rlim_t{4} << 30, false, "raise it: ulimit -v unlimited"},
      {"file size", RLIMIT_FSIZE, rlim_t{4} << 30, false,
       "raise it: ulimit -f unlimited; shared memory counts as a file"}};
  for (const Limit& limit : kLimits) {
    rlimit now{};
    getrlimit(limit.resource, &now);
    const bool none = now.rlim_cur == RLIM_INFINITY;
    e.fact(fmt::format("limit: {}", limit.name), none ? "none" : std::to_string(now.rlim_cur));
    if (none || now.rlim_cur >= limit.least) continue;
    const std::string what = fmt::format("the limit of {} is {}", limit.name, now.rlim_cur);
    limit.serious ? e.problem(what, limit.remedy) : e.advice(what, limit.remedy);
  }
}

void examine_shared_memory(Examination& e, const Config& config) {
  const auto heap = try_shared_heap(config.heap_bytes);
  if (heap)
    e.fact("shared heap", fmt::format("made by one process and mapped by another; {} of address space",
                                      bytes_text(static_cast<double>(heap.value()))));
  else
    e.problem(
        heap.status().text(),
        "run all ranks as one user in one PID namespace, /proc without hidepid, ulimit -f and -v unlimited");
  const auto huge = first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  e.fact("huge pages for it", huge.value_or("unknown"));
  if (huge && (huge->find("[never]") != std::string::npos || huge->find("[deny]") != std::string::npos))
    e.advice("shared memory gets no huge pages",
             "as root: echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled");
  const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  const bool fences = commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0;
  e.fact("membarrier", fences ? "works" : "missing");
  if (!fences)
    e.advice("membarrier is missing: sleeping ranks wake up late",
             "use Linux 4.16 or later, or allow the call in seccomp");
  ShmOptions options;
  if (config.staging_bytes > 0) options.staging_bytes = config.staging_bytes;
  for (const size_t ranks : {size_t{2}, size_t{8}}) {
    const shm::BlockLayout layout(ranks, options.staging_bytes, options.packet_staging_bytes);
    e.fact(fmt::format("communicator of {}", ranks),
           fmt::format("at most {} of shared memory", bytes_text(static_cast<double>(layout.bytes * ranks))));
  }
}

void examine_launcher(Examination& e) {
  const auto launch = detect_launch([](const char* name) { return environment(name); });
  if (!launch) return e.problem(launch.status().text(), "set all of the launcher's variables, or none");
  const Launch& found = launch.value();
  e.fact("launcher", found.launcher == "none"
                         ? "none: a program is alone here"
                         : fmt::format("{}: rank {} of {}", found.launcher, found.rank, found.size));
}

void examine_network(Examination& e, const Config& config) {
  const auto chosen = select_nics(list_nics(), config.nic);
  std::vector<std::string> names;
  if (chosen)
    for (const Nic& nic : chosen.value()) names.push_back(nic.name);
  e.fact("network interfaces", names.empty() ? "none" : fmt::format("{}", fmt::join(names, " ")));
  if (!chosen && !config.nic.empty()) e.problem(chosen.status().text(), "correct or unset WIA_NIC");
  const auto ofi = describe_ofi();
  e.fact("libfabric", ofi ? ofi.value() : ofi.status().text());
  if (!ofi && config.transport == "ofi")
    e.problem("WIA_TRANSPORT=ofi: " + ofi.status().text(),
              "install libfabric (and build with it), or use tcp");
}

void examine_algorithms(Examination& e, const std::string& list) {
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size()), equals = list.find('=', begin);
    const std::string name = list.substr(begin, equals - begin),
                      wanted = list.substr(equals + 1, end - equals - 1);
    const auto collective = parse_collective(name);
    const auto found =
        collective && wanted != "auto" ? parse_tactic(*collective, wanted).take_status() : Status();
    if (!collective || !found)
      e.problem(
          fmt::format("WIA_ALGORITHM: {}", collective ? found.text() : "there is no collective " + name),
          "correct or unset WIA_ALGORITHM");
    begin = end + 1;
  }
}

Config examine_configuration(Examination& e) {
  auto config = Config::from_environment();
  if (!config) {
    e.problem(config.status().text(), "correct or unset the variable");
    return Config();
  }
  for (const Config::Item& item : config->items) {
    e.setting(item);
    if (item.origin == "ignored")
      e.problem(fmt::format("{} is set, but is no setting", item.variable), "correct its name, or unset it");
  }
  examine_algorithms(e, config->algorithms);
  return std::move(config.value());
}

int run(const std::string& json) {
  check_json_file(json);
  Examination e;
  examine_machine(e);
  examine_limits(e);
  const Config config = examine_configuration(e);
  examine_shared_memory(e, config);
  examine_network(e, config);
  examine_launcher(e);
  if (json != "-") e.print();
  if (!json.empty()) write_json(e.json(), json);
  if (std::fflush(stdout) != 0) throw std::runtime_error("stdout cannot be written");
  return e.works() ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("doctor", "Checks the installation and the machine");
  auto json = std::make_shared<std::string>();
  command->add_option("--json", *json, "Also as JSON to this file; -: only JSON, to stdout");
  command->footer(
      "Exit code: 0, libwia works here (advice may make it faster); 1, there is a problem; 2, usage.");
  command->callback([=, &invocation] { invocation.exit_code = run(*json); });
}

}  // namespace wia::cli
