// wia doctor: checks the installation and the machine, and says what to do about what it finds.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/config.hpp"
#include "base/environment.hpp"
#include "base/machine.hpp"
#include "base/wait.hpp"
#include "bootstrap/launch.hpp"
#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/machine.hpp"
#include "transport/shm_endpoint.hpp"
#include "wia/wia.h"

namespace wia::cli {
namespace {

class Examination {
 public:
  void fact(const std::string& name, const std::string& value) { facts_.emplace_back(name, value); }
  void finding(const std::string& what, const std::string& remedy) { findings_.emplace_back(what, remedy); }
  bool good() const { return findings_.empty(); }

  void print() const {
    for (const auto& [name, value] : facts_) fmt::print("{:<24} {}\n", name, value);
    fmt::print("\n");
    for (const auto& [what, remedy] : findings_) fmt::print("FOUND  {}\n       {}\n", what, remedy);
    if (good()) fmt::print("all good\n");
  }
  Json json() const {
    Json facts = Json::object(), findings = Json::array();
    for (const auto& [name, value] : facts_) facts[name] = value;
    for (const auto& [what, remedy] : findings_) findings.push_back({{"what", what}, {"remedy", remedy}});
    return {{"schema", "wia.doctor/1"}, {"facts", facts}, {"findings", findings}};
  }

 private:
  std::vector<std::pair<std::string, std::string>> facts_, findings_;
};

// Whether another process can map this process's heap: what ranks of a host do with one another.
void examine_shared_memory(Examination& e) {
  auto heap = ShmHeap::instance();
  if (!heap) {
    e.finding(heap.status().text(),
              "libwia needs memfd_create and address space; see WIA_HEAP_SIZE and ulimit -v");
    return;
  }
  e.fact("shared heap", bytes_text(static_cast<double>(heap.value()->bytes())) + " of address space");
  const std::string address = heap.value()->address();
  const pid_t child = fork();
  if (child == 0) {
    // The child has the parent's heap by inheritance: what is tested is opening it through /proc.
    const std::string path = fmt::format("/proc/{}/fd", getppid());
    _exit(access(path.c_str(), R_OK) == 0 && PeerHeap::open(address).ok() ? 0 : 1);
  }
  int status = 1;
  if (child > 0) waitpid(child, &status, 0);
  const bool reachable = status == 0;
  e.fact("heaps of other ranks", reachable ? "can be opened through /proc/PID/fd" : "cannot be opened");
  if (!reachable)
    e.finding("/proc/PID/fd of another process cannot be opened",
              "mount /proc without hidepid and run all ranks as one user");
  for (const int ranks : {2, 8}) {
    const ShmOptions options;
    const shm::BlockLayout layout(static_cast<size_t>(ranks), options.staging_bytes,
                                  options.packet_staging_bytes);
    e.fact(fmt::format("communicator of {}", ranks),
           bytes_text(static_cast<double>(layout.bytes) * ranks) + " of shared memory at most");
  }
}

void examine_machine(Examination& e) {
  e.fact("version", wia_version());
  e.fact("host", host_name());
  e.fact("cpu", fmt::format("{} ({})", cpu_model(), fmt::join(vector_extensions(), " ")));
  e.fact("allowed cpus", fmt::format("{} ({})", allowed_cpus(), ranges_text(affinity())));
  e.fact("largest cache", bytes_text(static_cast<double>(last_level_cache_bytes())));
  const Memory m = memory();
  const auto text = [](const std::optional<uint64_t>& bytes) {
    return bytes ? bytes_text(static_cast<double>(*bytes)) : std::string("unknown");
  };
  e.fact("memory", fmt::format("{}, {} available, cgroup limit {}", text(m.total), text(m.available),
                               m.cgroup_limit ? text(m.cgroup_limit) : "none"));
  e.fact("huge pages, shared",
         first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled").value_or("unknown"));
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  e.fact("open files", fmt::format("{} allowed", files.rlim_cur));
  if (files.rlim_cur < 64)
    e.finding(fmt::format("only {} open files are allowed", files.rlim_cur), "raise it: ulimit -n 1024");
}

void examine_configuration(Examination& e) {
  auto config = Config::from_environment();
  if (!config) {
    e.finding(config.status().text(), "correct or unset the variable");
  } else {
    for (const Config::Item& item : config->items)
      e.fact(item.variable, fmt::format("{}  ({}; {})", item.value, item.origin, item.meaning));
  }
  auto launch = detect_launch([](const char* name) { return environment(name); });
  if (launch) {
    e.fact("launcher", fmt::format("{}: rank {} of {}", launch->launcher, launch->rank, launch->size));
  } else {
    e.finding(launch.status().text(), "set all of the launcher's variables, or none");
  }
}

}  // namespace

void add_doctor(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("doctor", "Checks the installation and the machine");
  auto json = std::make_shared<std::string>();
  command->add_option("--json", *json, "As JSON to this file; -: to stdout");
  command->callback([=, &invocation] {
    Examination e;
    examine_machine(e);
    examine_shared_memory(e);
    examine_configuration(e);
    if (*json != "-") e.print();
    if (!json->empty()) write_json(e.json(), *json);
    invocation.exit_code = e.good() ? 0 : 1;
  });
}

}  // namespace wia::cli
