// join_store: rank 0 serves unless the launcher does, everybody connects.
#include <unistd.h>

#include <algorithm>

#include "base/interrupt.hpp"
#include "base/random.hpp"
#include "bootstrap/launch.hpp"
#include "bootstrap/resolve.hpp"
#include "bootstrap/store_client.hpp"

namespace wia {
namespace {

constexpr int64_t kProbeMs = 1'000;      // to find out who holds a port
constexpr int64_t kCandidateMs = 2'000;  // for one of several ports: a stranger there may keep silent

// Where rank 0 serves. The name of the master may mean another address on this host than on the others
// (127.0.1.1 is common), so only loopback is taken literally.
std::string address_to_serve(const Launch& launch) {
  const std::string& host = launch.master_host;
  if (host.empty()) return "127.0.0.1";
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.") ? host : "";
}

// Adds to `failed` (the port is in use) what a look at who is there tells. Code::invalid_argument: it is this
// same job.
Status explain_port(const Launch& launch, const std::string& host, int port, const Status& failed) {
  Result<std::unique_ptr<Store>> probe =
      connect_store_once(host, port, launch.identity, Deadline::after_ms(kProbeMs));
  if (probe.ok())
    return Status::error(Code::invalid_argument,
                         "{} by another process that serves this job; start every rank once", failed.text());
  const Code code = probe.status().code() == Code::invalid_argument ? Code::invalid_argument : failed.code();
  return Status::error(code, "{} ({})", failed.text(), probe.status().text());
}

Result<std::unique_ptr<StoreServer>> serve(const Launch& launch) {
  const std::string host = address_to_serve(launch);
  std::string reasons;
  Status last;
  for (const int port : launch.ports) {
    Result<std::unique_ptr<StoreServer>> server = StoreServer::start(host, port, launch.identity);
    if (server.ok()) return server;
    last = server.take_status();
    if (last.code() == Code::busy) last = explain_port(launch, host, port, last);
    reasons += (reasons.empty() ? "" : "; ") + last.text();
    if (last.code() == Code::invalid_argument) break;
  }
  return Status::error(last.code(), "rank 0 cannot serve the meeting point of the job: {}{}", reasons,
                       last.code() == Code::invalid_argument ? "" : "; WIA_MASTER_PORT chooses another port");
}

// Tries the ports in turn until one is the job's store. Strangers and other jobs on them are passed over.
Result<std::unique_ptr<Store>> find_store(const std::string& host, const Launch& launch, Deadline deadline) {
  const int64_t began = now_ns();
  std::vector<std::string> reasons(launch.ports.size(), "not tried");
  BackOff back_off;
  for (int rounds = 1;; ++rounds) {
    for (size_t i = 0; i < launch.ports.size(); ++i) {
      const Deadline limit = Deadline::after_ms(kCandidateMs).earlier(deadline);
      Result<std::unique_ptr<Store>> store =
          connect_store_once(host, launch.ports[i], launch.identity, limit);
      if (store.ok()) return store;
      if (store.status().code() == Code::invalid_argument)
        return Status::error(Code::invalid_argument, "cannot join the store at {}: {}",
                             host_and_port(host, launch.ports[i]), store.status().text());
      reasons[i] = store.status().text();
      if (deadline.passed()) break;
    }
    const bool leave = interrupted();
    if (deadline.passed() || leave) {
      std::string list;
      for (size_t i = 0; i < reasons.size(); ++i)
        list += fmt::format("{}{}: {}", i ? ", " : "", host_and_port(host, launch.ports[i]), reasons[i]);
      return Status::error(
          leave ? Code::aborted : Code::unreachable,
          "cannot find the store of job \"{}\": {} ({} rounds in {:.1f} s); is rank 0 running?",
          launch.identity.job, list, rounds, static_cast<double>(now_ns() - began) / 1e9);
    }
    back_off.wait(deadline);
  }
}

// Nobody to meet: a store of its own, that nobody else can enter.
Result<std::unique_ptr<Store>> join_alone(Launch launch, Deadline deadline,
                                          std::unique_ptr<StoreServer>* server) {
  launch.identity.job = random_name();
  launch.identity.secret = random_name();
  Result<std::unique_ptr<StoreServer>> started = StoreServer::start("127.0.0.1", 0, launch.identity);
  if (!started.ok()) return started.take_status();
  *server = std::move(*started);
  return Store::connect("127.0.0.1", (*server)->port(), launch.identity, deadline);
}

}  // namespace

std::string this_process() {
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  return fmt::format("process {} on host {}", getpid(), host);
}

Result<std::unique_ptr<Store>> join_store(const Launch& given, Deadline deadline,
                                          std::unique_ptr<StoreServer>* server) {
  Launch launch = given;
  launch.identity.world_size = launch.size;
  launch.identity.rank = launch.rank;
  launch.identity.member = this_process();
  if (launch.ports.empty()) {
    if (launch.size == 1) return join_alone(std::move(launch), deadline, server);
    return Status::error(Code::invalid_argument, "no port is known at which the {} ranks could meet",
                         launch.size);
  }
  std::string host = launch.master_host.empty() ? "127.0.0.1" : launch.master_host;
  if (launch.rank == 0 && !launch.store_is_served) {
    if (!*server) {
      Result<std::unique_ptr<StoreServer>> started = serve(launch);
      if (!started.ok()) return started.take_status();
      *server = std::move(*started);
    }
    launch.ports = {(*server)->port()};
    host = address_to_serve(launch);  // its own store, whatever the others call this host
  }
  if (launch.ports.size() == 1) return Store::connect(host, launch.ports.front(), launch.identity, deadline);
  return find_store(host, launch, deadline);
}

}  // namespace wia
