// One function for each launcher, in the order in which they are asked; then what they have in common.
#include "bootstrap/launch.hpp"

#include <sys/socket.h>

#include <algorithm>

#include "bootstrap/launch_variables.hpp"
#include "bootstrap/resolve.hpp"

namespace wia {
namespace {

constexpr int kMaxPort = 65535;

// What a launcher's own variables say; nothing: it did not start this process.
struct Found {
  Launch launch;
  bool many_hosts = false;  // the ranks are known to be on more than one
  std::string first_host;   // where rank 0 is, if the launcher tells
};
using Detection = Result<std::optional<Found>>;

Detection detect_wia(const LaunchVariables& variables) {
  if (!variables.has("WIA_RANK")) return std::optional<Found>();
  Found found;
  found.launch.launcher = "wia";
  WIA_RETURN_IF_ERROR(variables.read_ranks("WIA_RANK", "WIA_WORLD_SIZE", &found.launch));
  found.launch.store_is_served = variables.text("WIA_STORE_SERVED") == "1";
  return std::optional(found);
}

// The agent of torchrun listens on MASTER_PORT itself; the ranks meet at the ports after it.
Detection detect_torchrun(const LaunchVariables& variables) {
  const bool started = variables.has("TORCHELASTIC_RUN_ID");
  if (!started && !(variables.has("RANK") && variables.has("WORLD_SIZE"))) return std::optional<Found>();
  Found found;
  found.launch.launcher = "torchrun";
  if (!variables.has("RANK"))
    return Status::error(Code::invalid_argument, "{}, but RANK is not set",
                         variables.show("TORCHELASTIC_RUN_ID"));
  WIA_RETURN_IF_ERROR(variables.read_ranks("RANK", "WORLD_SIZE", &found.launch));
  if (variables.has("MASTER_ADDR") != variables.has("MASTER_PORT"))
    return Status::error(Code::invalid_argument, "{}, {}: set both", variables.show("MASTER_ADDR"),
                         variables.show("MASTER_PORT"));
  if (!variables.has("MASTER_ADDR")) {
    if (found.launch.size > 1 && !variables.has("WIA_MASTER_ADDR"))
      return Status::error(Code::invalid_argument, "{}, but MASTER_ADDR and MASTER_PORT are not set",
                           variables.show("WORLD_SIZE"));
    return std::optional(found);
  }
  Result<int> port = variables.number("MASTER_PORT", 1, kMaxPort);
  if (!port.ok()) return port.take_status();
  const int step = *port + 8 <= kMaxPort ? 1 : -1;
  for (int i = 1; i <= 8; ++i) found.launch.ports.push_back(*port + step * i);
  found.launch.master_host = *variables.text("MASTER_ADDR");
  found.launch.identity.job = fmt::format("torchrun/{}/{}", variables.text_or("TORCHELASTIC_RUN_ID", "none"),
                                          host_and_port(found.launch.master_host, *port));
  return std::optional(found);
}

Detection detect_openmpi(const LaunchVariables& variables) {
  if (!variables.has("OMPI_COMM_WORLD_RANK")) return std::optional<Found>();
  Found found;
  Launch& launch = found.launch;
  launch.launcher = "openmpi";
  WIA_RETURN_IF_ERROR(variables.read_ranks("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", &launch));
  found.many_hosts = variables.number_or("OMPI_COMM_WORLD_LOCAL_SIZE", launch.size) < launch.size;
  found.first_host = first_of_node_list(variables.text_or("SLURM_JOB_NODELIST", ""));
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_ess_jobid"})
    if (launch.identity.job.empty() && variables.has(name))
      launch.identity.job = fmt::format("openmpi/{}", *variables.text(name));
  return std::optional(found);
}

// The process at the other end of the socket that the process manager gave to this rank: the same for all
// ranks that it started on this host.
std::string manager_of(const LaunchVariables& variables) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  const int socket = variables.number_or("PMI_FD", -1);
  if (socket < 0 || getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.pid <= 0)
    return {};
  return fmt::format("{}/{}", peer.uid, peer.pid);
}

bool started_by_srun(const LaunchVariables& variables) {
  return variables.has("SLURM_PROCID") && variables.number_or("SLURM_STEP_ID", -1) >= 0;
}

// Steps of Slurm name their hosts; its tasks may use any of several process managers.
void look_at_slurm_step(const LaunchVariables& variables, Found* found) {
  if (!started_by_srun(variables)) return;
  const char* nodes = variables.either("SLURM_STEP_NUM_NODES", "SLURM_NNODES");
  found->many_hosts = variables.number_or(nodes, 1) > 1;
  const char* list = variables.either("SLURM_STEP_NODELIST", "SLURM_NODELIST");
  found->first_host = first_of_node_list(variables.text_or(list, ""));
  const std::string step = variables.text_or("SLURM_STEP_ID", "0");
  found->launch.identity.job = fmt::format("slurm/{}.{}", variables.text_or("SLURM_JOB_ID", "0"), step);
}

Detection detect_pmi(const LaunchVariables& variables) {
  if (!variables.has("PMI_RANK")) return std::optional<Found>();
  Found found;
  Launch& launch = found.launch;
  launch.launcher = "mpich";
  WIA_RETURN_IF_ERROR(variables.read_ranks("PMI_RANK", "PMI_SIZE", &launch));
  found.many_hosts = variables.number_or("MPI_LOCALNRANKS", launch.size) < launch.size;
  look_at_slurm_step(variables, &found);
  for (const char* name : {"PMI_JOBID", "PMI_KVSNAME", "PMI_PORT"})
    if (launch.identity.job.empty() && variables.has(name))
      launch.identity.job = fmt::format("mpich/{}", *variables.text(name));
  if (launch.identity.job.empty() && !found.many_hosts) {
    const std::string manager = manager_of(variables);
    if (!manager.empty()) launch.identity.job = "mpich/" + manager;
  }
  return std::optional(found);
}

// PMIx keeps the number of ranks in its server; the environment has it only when Slurm or the user gives it.
Detection detect_pmix(const LaunchVariables& variables) {
  if (!variables.has("PMIX_RANK")) return std::optional<Found>();
  Found found;
  found.launch.launcher = "pmix";
  const char* size_name = "WIA_WORLD_SIZE";
  if (!variables.has(size_name) && started_by_srun(variables))
    size_name = variables.either("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
  if (!variables.has(size_name))
    return Status::error(Code::invalid_argument,
                         "{}, but PMIx does not say in the environment how many ranks there are; set "
                         "WIA_WORLD_SIZE",
                         variables.show("PMIX_RANK"));
  WIA_RETURN_IF_ERROR(variables.read_ranks("PMIX_RANK", size_name, &found.launch));
  look_at_slurm_step(variables, &found);
  if (variables.has("PMIX_NAMESPACE"))
    found.launch.identity.job = fmt::format("pmix/{}", *variables.text("PMIX_NAMESPACE"));
  return std::optional(found);
}

// A batch script has SLURM_PROCID and SLURM_NTASKS too, but is not one of the tasks: only srun's have a step.
Detection detect_slurm(const LaunchVariables& variables) {
  if (!started_by_srun(variables)) return std::optional<Found>();
  Found found;
  found.launch.launcher = "slurm";
  const char* size_name = variables.either("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
  WIA_RETURN_IF_ERROR(variables.read_ranks("SLURM_PROCID", size_name, &found.launch));
  look_at_slurm_step(variables, &found);
  return std::optional(found);
}

Detection detect(const LaunchVariables& variables) {
  using Detector = Detection (*)(const LaunchVariables&);
  static constexpr Detector kDetectors[] = {detect_wia, detect_torchrun, detect_openmpi,
                                            detect_pmi, detect_pmix,     detect_slurm};
  for (const Detector detector : kDetectors) {
    Detection found = detector(variables);
    if (!found.ok() || *found) return found;
  }
  return std::optional<Found>();
}

// Where the ranks meet, unless the launcher has said so: as the user says, at rank 0's host, or on this host.
Status find_meeting_point(const LaunchVariables& variables, Found* found) {
  Launch& launch = found->launch;
  const std::string& job = launch.identity.job;
  if (variables.has("WIA_MASTER_ADDR") != variables.has("WIA_MASTER_PORT"))
    return Status::error(Code::invalid_argument, "{}, {}: set both", variables.show("WIA_MASTER_ADDR"),
                         variables.show("WIA_MASTER_PORT"));
  if (variables.has("WIA_MASTER_ADDR")) {
    Result<int> port = variables.number("WIA_MASTER_PORT", 1, kMaxPort);
    if (!port.ok()) return port.take_status();
    launch.master_host = *variables.text("WIA_MASTER_ADDR");
    launch.ports = {*port};
    return {};
  }
  if (launch.size == 1 || !launch.ports.empty()) return {};
  if (found->many_hosts && found->first_host.empty())
    return Status::error(
        Code::invalid_argument,
        "the {} ranks are on several hosts; set WIA_MASTER_ADDR to a host name of rank 0 and "
        "WIA_MASTER_PORT to a free port there, for all ranks",
        launch.size);
  if (job.empty())
    return Status::error(
        Code::invalid_argument,
        "nothing in the environment names the job of these {} ranks; set WIA_MASTER_ADDR and "
        "WIA_MASTER_PORT (or WIA_JOB_ID, when all are on one host)",
        launch.size);
  if (found->many_hosts) launch.master_host = found->first_host;
  launch.ports = ports_of_job(job);
  return {};
}

}  // namespace

std::vector<int> ports_of_job(std::string_view job) {
  uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (const char c : job) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ull;
  std::vector<int> ports;
  while (ports.size() < 8) {
    hash = hash * 6364136223846793005ull + 1442695040888963407ull;
    const int port = 20'000 + static_cast<int>((hash >> 33) % 12'000);
    if (std::find(ports.begin(), ports.end(), port) == ports.end()) ports.push_back(port);
  }
  return ports;
}

std::string first_of_node_list(std::string_view list) {
  const size_t end = std::min(list.find_first_of(",["), list.size());
  std::string host(list.substr(0, end));
  if (end == list.size() || list[end] == ',') return host;
  const std::string_view numbers = list.substr(end + 1);
  const size_t close = numbers.find(']');
  if (close == std::string_view::npos) return {};
  host += numbers.substr(0, numbers.find_first_of("-,]"));
  const std::string_view rest = numbers.substr(close + 1);  // of the same name, rarely: "rack[1-2]node"
  return host + std::string(rest.substr(0, rest.find_first_of(",[")));
}

Result<Launch> detect_launch(const Environment& environment) {
  const LaunchVariables variables(environment);
  Detection detected = detect(variables);
  if (!detected.ok()) return detected.take_status();
  if (!*detected && variables.has("WIA_WORLD_SIZE"))
    return Status::error(Code::invalid_argument,
                         "{} without WIA_RANK, and no other launcher is known to have "
                         "started this process",
                         variables.show("WIA_WORLD_SIZE"));
  if (!*detected) return Launch();
  Found found = std::move(**detected);
  if (variables.has("WIA_WORLD_SIZE") && variables.number_or("WIA_WORLD_SIZE", -1) != found.launch.size)
    return Status::error(Code::invalid_argument, "{}, but {} started {} ranks",
                         variables.show("WIA_WORLD_SIZE"), found.launch.launcher, found.launch.size);
  found.launch.identity.job = variables.text_or("WIA_JOB_ID", found.launch.identity.job);
  found.launch.identity.secret = variables.text_or("WIA_JOB_SECRET", "");
  found.launch.identity.world_size = found.launch.size;
  WIA_RETURN_IF_ERROR(find_meeting_point(variables, &found));
  return std::move(found.launch);
}

}  // namespace wia
