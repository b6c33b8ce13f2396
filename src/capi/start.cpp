// wia_init, wia_finalize, wia_get_unique_id, wia_init_rank.
#include <fmt/ranges.h>
#include <sys/random.h>

#include <cstdio>
#include <cstring>
#include <mutex>

#include "base/environment.hpp"
#include "base/fork.hpp"
#include "base/interrupt.hpp"
#include "bootstrap/launch.hpp"
#include "capi/handles.hpp"
#include "topology/nics.hpp"
#include "transport/network.hpp"
#include "transport/ofi_wire.hpp"

namespace wia::capi {
namespace {

constexpr int64_t kPartingMs = 2'000;

std::mutex mutex_;
wia_communicator_t* world_ = nullptr;
int generation_ = 0;  // of wia_init: a job may start over on the same store

// Serve until the process ends: the job's store where rank 0 has to (else null), and the meeting points of
// wia_get_unique_id.
struct Servers {
  std::unique_ptr<StoreServer> job;
  std::vector<std::unique_ptr<StoreServer>> ids;
};
Servers& servers() {
  static auto* all = new Servers;
  return *all;
}

Result<Config> read_config() {
  watch_forks();
  auto config = Config::from_environment();
  if (config) log::set_level(config->log_level);
  return config;
}

Result<wia_communicator_t*> start(Result<std::shared_ptr<World>> world, const std::string& name) {
  if (!world) return world.take_status();
  std::vector<int> everyone(static_cast<size_t>((*world)->size()));
  for (size_t r = 0; r < everyone.size(); ++r) everyone[r] = static_cast<int>(r);
  const int rank = (*world)->rank();
  auto made = Communicator::create(std::move(world.value()), std::move(everyone), rank, name);
  if (!made) return made.take_status();
  return publish(std::move(made.value()));
}

Result<wia_communicator_t*> init() {
  if (in_forked_child()) return forked_status();
  auto config = read_config();
  if (!config) return config.take_status();
  auto launch = detect_launch([](const char* name) { return environment(name); });
  if (!launch) return launch.take_status();
  log::set_prefix("rank " + std::to_string(launch->rank));
  const Deadline deadline = Deadline::after_ms(config->init_timeout_ms);
  const std::string prefix = "generation" + std::to_string(generation_++) + "/";
  return start(World::join(*launch, prefix, *config, deadline, &servers().job), "world");
}

constexpr int64_t kAskEveryMs = 500;  // whether to stop waiting

// A store must not end while others still start, or make communicators, with its help.
void wait_for_others(StoreServer& server, int rank, int64_t notice_ms, Deadline deadline) {
  const Deadline notice = Deadline::after_ms(notice_ms);
  std::vector<int> present;
  for (bool told = false;;) {
    present = server.wait_until_left(rank, Deadline::after_ms(kAskEveryMs).earlier(deadline));
    if (present.empty() || deadline.passed() || interrupted()) break;
    if (told || !notice.passed()) continue;
    told = true;
    log::warning("this process serves the store and stays until ranks {} have left",
                 fmt::join(present, ", "));
  }
  if (!present.empty())
    log::warning(
        "ranks {} have not left; once this process has ended they cannot make communicators any more",
        fmt::join(present, ", "));
}

// Where others reach this host: WIA_MASTER_ADDR, else the first address of the first network interface.
std::string meeting_host(const Config& config) {
  if (const auto given = environment("WIA_MASTER_ADDR"); given && !given->empty()) return *given;
  const auto nics = select_nics(list_nics(), config.nic);
  return nics ? nics.value().front().addresses.front().text() : "127.0.0.1";
}

// "wia1 HOST PORT SECRET"
constexpr char kIdFormat[] = "wia1 %63s %d %32s";

}  // namespace

Communicator* world() {
  std::lock_guard lock(mutex_);
  if (!world_) return null<Communicator>(Status(Code::not_initialized, "wia_init has not been called"));
  return resolve(world_);
}

}  // namespace wia::capi

using namespace wia;
using namespace wia::capi;

extern "C" {

wia_status_t wia_init(wia_communicator_t** world) {
  if (!world) return report(Status(Code::invalid_argument, "world is NULL"));
  std::lock_guard lock(mutex_);
  if (!world_ || !behind(world_)) {
    auto made = init();
    if (!made) return report(made.take_status());
    world_ = made.value();
  }
  *world = world_;
  return WIA_SUCCESS;
}

wia_communicator_t* wia_create_world_communicator(void) {
  wia_communicator_t* world = nullptr;
  return wia_init(&world) == WIA_SUCCESS ? world : nullptr;
}

wia_status_t wia_finalize(void) { return wia_finalize_within(-1); }

wia_status_t wia_finalize_within(int64_t milliseconds) {
  if (in_forked_child()) return report(forked_status());
  std::vector<StoreServer*> served_ids;
  StoreServer* job = nullptr;
  {
    std::lock_guard lock(mutex_);
    destroy_all();
    world_ = nullptr;
    job = servers().job.get();
    for (const auto& server : servers().ids) served_ids.push_back(server.get());
  }
  auto config = Config::from_environment();
  const Config limits = config ? *config : Config{};
  const Deadline deadline = Deadline::after_ms(milliseconds < 0 ? limits.init_timeout_ms : milliseconds);
  if (job) wait_for_others(*job, 0, limits.late_notice_ms, deadline);
  for (StoreServer* server : served_ids) wait_for_others(*server, -1, limits.late_notice_ms, deadline);
  // What the last calls have sent is on its way to peers that may be slow to take it.
  const Deadline parting = Deadline::after_ms(kPartingMs);
  Network* network = Network::existing();
  if (!settle_ofi(parting) || (network && !network->wait_until_closed(parting)))
    log::warning("not all that was sent at the end has reached its peers");
  return WIA_SUCCESS;
}

wia_status_t wia_get_unique_id(wia_unique_id_t* id) { return wia_get_unique_id_at(nullptr, id); }

wia_status_t wia_get_unique_id_at(const char* given_host, wia_unique_id_t* id) {
  if (!id) return report(Status(Code::invalid_argument, "id is NULL"));
  if (in_forked_child()) return report(forked_status());
  unsigned char random[16];
  if (getrandom(random, sizeof random, 0) != sizeof random)
    return report(Status(Code::system, "no random numbers from the system"));
  std::string secret;
  for (const unsigned char byte : random) secret += fmt::format("{:02x}", byte);
  auto config = Config::from_environment();
  if (!config) return report(config.take_status());
  const std::string host = given_host && *given_host ? given_host : meeting_host(config.value());
  if (host.find_first_of(" \n") != std::string::npos)
    return report(
        Status::error(Code::invalid_argument, "host is \"{}\"; wanted is a name or an address", host));
  auto server =
      StoreServer::start(host.starts_with("127.") ? host : "", 0, JobIdentity{"unique-id", secret, 0});
  if (!server) return report(server.take_status());
  *id = {};
  const int length = std::snprintf(id->bytes, sizeof id->bytes, "wia1 %s %d %s", host.c_str(),
                                   server.value()->port(), secret.c_str());
  if (length < 0 || static_cast<size_t>(length) >= sizeof id->bytes || host.size() > 63)
    return report(Status::error(Code::invalid_argument, "the host has more than 63 characters: {}", host));
  std::lock_guard lock(mutex_);
  servers().ids.push_back(std::move(server.value()));
  return WIA_SUCCESS;
}

void wia_set_interrupted(bool (*interrupted)(void* context), void* context) {
  set_interrupt_check(interrupted, context);
}

wia_status_t wia_init_rank(wia_communicator_t** world, int num_ranks, const wia_unique_id_t* id, int rank) {
  if (!world) return report(Status(Code::invalid_argument, "world is NULL"));
  if (!id) return report(Status(Code::invalid_argument, "id is NULL"));
  if (num_ranks < 1)
    return report(Status::error(Code::invalid_argument, "num_ranks is {}; legal are 1 and above", num_ranks));
  if (rank < 0 || rank >= num_ranks)
    return report(
        Status::error(Code::invalid_argument, "rank is {}; legal are 0 to {}", rank, num_ranks - 1));
  if (in_forked_child()) return report(forked_status());
  char text[sizeof id->bytes + 1] = {}, host[64], secret[33];
  std::memcpy(text, id->bytes, sizeof id->bytes);
  int port = 0;
  if (std::sscanf(text, kIdFormat, host, &port, secret) != 3)
    return report(Status(Code::invalid_argument, "id was not made by wia_get_unique_id"));
  auto config = read_config();
  if (!config) return report(config.take_status());
  const Deadline deadline = Deadline::after_ms(config->init_timeout_ms);
  auto store =
      Store::connect(host, port, JobIdentity{"unique-id", secret, num_ranks, rank, this_process()}, deadline);
  if (!store) return report(store.take_status());
  auto made = start(World::join(std::move(store.value()), "", rank, num_ranks, *config, deadline), "world");
  if (!made) return report(made.take_status());
  *world = made.value();
  return WIA_SUCCESS;
}

}  // extern "C"
