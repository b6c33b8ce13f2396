#include "transport/network.hpp"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/log.hpp"
#include "transport/network_tasks.hpp"

namespace wia {
namespace {

std::atomic<Network*> instance_{nullptr};
std::mutex making_;

constexpr int kMaxStrangers = 256;

// All of the machine's addresses, IPv6 and IPv4 alike; IPv4 alone where there is no IPv6.
Result<FileDescriptor> listen_anywhere(int* port) {
  std::string reason;
  for (const int family : {AF_INET6, AF_INET}) {
    FileDescriptor made(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    Address address;
    address.storage.ss_family = static_cast<sa_family_t>(family);
    address.length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    const int off = 0;
    if (family == AF_INET6) setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (made && bind(made.get(), address.raw(), address.length) == 0 && listen(made.get(), SOMAXCONN) == 0) {
      getsockname(made.get(), address.raw(), &address.length);
      *port = address.port();
      return made;
    }
    reason = strerror(errno);
  }
  return Status::error(Code::system, "cannot listen on the network: {}", reason);
}

// Rings the bell when a connection has something, once for each arming.
class BellTask final : public SocketTask {
 public:
  BellTask(FileDescriptor epoll, std::atomic<Doorbell*>& bell)
      : SocketTask(std::move(epoll), Deadline::never()), bell_(bell) {}
  bool on_ready(uint32_t) override {
    // The connections report each arrival once: taking the reports makes room for the next ones.
    epoll_event events[64];
    while (epoll_wait(socket_.get(), events, 64, 0) == 64) {
    }
    if (Doorbell* bell = bell_.load()) bell->ring();
    return true;
  }

 private:
  std::atomic<Doorbell*>& bell_;
};

}  // namespace

// --- The process's network --------------------------------------------------------------------

Network* Network::existing() { return instance_.load(std::memory_order_acquire); }

Result<Network*> Network::instance() {
  std::lock_guard lock(making_);
  if (Network* made = existing()) return made;
  std::unique_ptr<Network> network(new Network);
  WIA_RETURN_IF_ERROR(network->start());
  instance_.store(network.get(), std::memory_order_release);
  return network.release();  // for the life of the process
}

Status Network::start() {
  auto listener = listen_anywhere(&port_);
  if (!listener) return listener.take_status();
  data_epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!data_epoll_) return Status::error(Code::system, "cannot watch connections: {}", strerror(errno));
  WIA_RETURN_IF_ERROR(loop_.start("wia-network"));
  std::lock_guard lock(loop_.mutex());
  loop_.add(std::make_unique<Listening>(*this, std::move(listener.value())), EPOLLIN);
  bell_task_ = loop_.add(std::make_unique<BellTask>(FileDescriptor(dup(data_epoll_.get())), bell_), 0);
  return {};
}

void Network::arm(Doorbell& bell) {
  bell_.store(&bell, std::memory_order_relaxed);
  loop_.change(bell_task_, EPOLLIN | EPOLLONESHOT);
}

bool Network::watch(int descriptor) {
  epoll_event event{EPOLLIN, {.fd = descriptor}};
  return epoll_ctl(data_epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

std::unique_ptr<Door> Network::open(uint64_t communicator, const HashKey& key, int rank,
                                    std::vector<Paths> paths) {
  std::unique_ptr<Door> door(new Door(*this));
  door->communicator_ = communicator;
  door->key_ = key;
  door->rank_ = rank;
  door->paths_ = std::move(paths);
  std::lock_guard lock(loop_.mutex());
  doors_[{communicator, rank}] = door.get();
  return door;
}

// --- Doors ------------------------------------------------------------------------------------

Door::~Door() {
  std::lock_guard lock(network_.loop_.mutex());
  network_.doors_.erase({communicator_, rank_});
  network_.loop_.remove_if([this](SocketTask& task) {
    const auto* caller = dynamic_cast<Caller*>(&task);
    return caller && caller->is_of(*this);
  });
}

void Door::connect(int peer, int rail) {
  std::lock_guard lock(network_.loop_.mutex());
  const auto [way, fresh] = ways_.try_emplace({peer, rail});
  if (fresh) network_.call(*this, peer, rail);
}

std::vector<Arrival> Door::take_arrivals() {
  std::lock_guard lock(network_.loop_.mutex());
  waiting_.store(false, std::memory_order_relaxed);
  return std::exchange(arrivals_, {});
}

std::string Door::difficulties(int peer) const {
  std::lock_guard lock(network_.loop_.mutex());
  for (const auto& [key, way] : ways_)
    if (key.first == peer && !way.open && !way.last_reason.empty()) return way.last_reason;
  return {};
}

// The rail's own way first, then the other rails', then what else may be.
std::vector<const Path*> Door::paths_for(int peer, int rail) const {
  const Paths& paths = paths_[static_cast<size_t>(peer)];
  std::vector<const Path*> list;
  const size_t rails = paths.rails.size();
  for (size_t i = 0; i < rails; ++i) list.push_back(&paths.rails[(static_cast<size_t>(rail) + i) % rails]);
  for (const Path& other : paths.others) list.push_back(&other);
  return list;
}

Status Door::no_descriptors(int peer) const {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  size_t needed = 0;
  for (size_t p = 0; p < paths_.size(); ++p) {
    const auto way = ways_.lower_bound({static_cast<int>(p), 0});
    const bool open = way != ways_.end() && way->first.first == static_cast<int>(p) && way->second.open;
    needed += !paths_[p].rails.empty() && !open;
  }
  return Status::error(
      Code::system,
      "rank {} cannot open a connection to rank {}: all {} file descriptors that its process "
      "may have are in use, and this communicator may need {} more; raise ulimit -n",
      rank_, peer, limit.rlim_cur, needed);
}

void Network::deliver(Door& door, Arrival arrival) {
  if (arrival.socket) {
    const int on = 1;
    setsockopt(arrival.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, {.fd = arrival.socket.get()}};
    epoll_ctl(data_epoll_.get(), EPOLL_CTL_ADD, arrival.socket.get(), &event);
  }
  door.arrivals_.push_back(std::move(arrival));
  door.waiting_.store(true, std::memory_order_release);
  if (Doorbell* bell = bell_.load()) bell->ring();
}

// --- Calling ----------------------------------------------------------------------------------

// Tries the next path of the way; when all have been tried, the first again.
void Network::call(Door& door, int peer, int rail) {
  Door::Way& way = door.ways_[{peer, rail}];
  const auto paths = door.paths_for(peer, rail);
  if (paths.empty()) {
    way.last_reason = "it has no address of a family that this host has";
    deliver(door, {peer, rail, {}, Status(Code::unreachable, way.last_reason)});
    return;
  }
  if (way.next_path == paths.size()) {
    way.next_path = 0;
    ++way.rounds;
  }
  const bool pause = way.next_path == 0 && way.rounds > 0;
  ++way.calls;
  loop_.add(Caller::make(*this, door, peer, rail, *paths[way.next_path++], pause), EPOLLOUT | EPOLLIN);
}

void Network::give_up(Door& door, int peer, int rail, Status reason) {
  Door::Way& way = door.ways_[{peer, rail}];
  --way.calls;
  way.last_reason = reason.text();
  if (!way.open) deliver(door, {peer, rail, {}, std::move(reason)});
}

void Network::call_failed(Door& door, int peer, int rail, const std::string& reason, bool refused) {
  constexpr int kRefusals = 4;  // then nobody is there any more
  Door::Way& way = door.ways_[{peer, rail}];
  --way.calls;
  way.last_reason = reason;
  if (way.open) return;
  way.refusals += refused;
  const auto paths = door.paths_for(peer, rail);
  if (refused && way.refusals >= kRefusals && way.rounds > 0) {
    if (way.refusals == kRefusals || way.calls == 0)
      deliver(door, {peer, rail, {}, Status(Code::unreachable, reason)});
    return;
  }
  call_by_next_path(door, peer, rail);
  if (way.calls == 0) call(door, peer, rail);
}

// Beside those that are being tried.
void Network::call_by_next_path(Door& door, int peer, int rail) {
  const Door::Way& way = door.ways_[{peer, rail}];
  if (!way.open && way.next_path < door.paths_for(peer, rail).size()) call(door, peer, rail);
}

void Network::stop_calls(const Door& door, int peer, int rail) {
  loop_.remove_if([&](SocketTask& task) {
    const auto* caller = dynamic_cast<Caller*>(&task);
    return caller && caller->is_of(door, peer, rail);
  });
}

// --- Strangers --------------------------------------------------------------------------------

// Of strangers that keep silent only so many are kept, the newest.
void Network::hear_stranger(FileDescriptor stranger) {
  SocketTask* oldest = nullptr;
  int strangers = 0;
  loop_.for_each([&](SocketTask& task) {
    if (!dynamic_cast<Stranger*>(&task)) return;
    ++strangers;
    if (!oldest || task.deadline().at_ns() < oldest->deadline().at_ns()) oldest = &task;
  });
  if (strangers >= kMaxStrangers) loop_.remove(oldest);
  loop_.add(std::make_unique<Stranger>(*this, std::move(stranger)), EPOLLIN);
}

// Of two ranks that call each other the lower one's call counts, unless it does not get through.
Reply::Answer Network::answer(const Hello& hello, const Challenge& challenge, Door** found) {
  const auto entry = doors_.find({hello.communicator, hello.to});
  if (entry == doors_.end()) return Reply::not_here;
  Door& door = *entry->second;
  if (prove(hello, challenge, door.key_) != hello.proof) return Reply::not_proven;
  const auto ranks = static_cast<int>(door.paths_.size());
  if (hello.from < 0 || hello.from >= ranks || hello.from == hello.to) return Reply::not_here;
  *found = &door;
  const auto way = door.ways_.find({hello.from, hello.rail});
  if (way == door.ways_.end()) return Reply::welcome;
  const bool calling = hello.from > hello.to && way->second.calls > 0 && way->second.rounds == 0;
  return way->second.open || calling ? Reply::crossed : Reply::welcome;
}

// --- The end of connections -------------------------------------------------------------------

void Network::close_gently(FileDescriptor socket, std::vector<std::byte> unsent) {
  epoll_ctl(data_epoll_.get(), EPOLL_CTL_DEL, socket.get(), nullptr);
  auto closing = std::make_unique<Closing>(closing_, std::move(socket), std::move(unsent));
  if (!closing->on_ready(EPOLLOUT)) return;
  std::lock_guard lock(loop_.mutex());
  loop_.add(std::move(closing), EPOLLIN | EPOLLOUT | EPOLLET);
}

bool Network::wait_until_closed(Deadline deadline) {
  while (closing_.load() > 0) {
    if (deadline.passed()) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

}  // namespace wia
