// The server of the store: one thread that waits in epoll for strangers, members and the time.
//
// A connection is a stranger until its hello was accepted; strangers are dropped kHelloMs after they came,
// and the oldest is dropped when there are too many or when descriptors run out. A member has one call at a
// time; its next one is read when the reply of the last is sent.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <new>
#include <set>
#include <thread>
#include <unordered_map>

#include "base/signals.hpp"
#include "bootstrap/socket.hpp"
#include "bootstrap/store.hpp"
#include "bootstrap/store_connection.hpp"
#include "bootstrap/store_gate.hpp"
#include "bootstrap/store_table.hpp"

namespace wia {
namespace {

using store_protocol::Answer;
using store_protocol::Hello;
using store_protocol::Reply;

constexpr int64_t kHelloMs = 10'000;
constexpr size_t kMaxStrangers = 1024;
constexpr int kAcceptsInARow = 64;
constexpr int64_t kPauseMs = 100;  // of accepting, when there are no descriptors

constexpr uint64_t kListener = 0, kStop = 1, kFirstConnection = 2;  // what an event is about

struct Client {
  explicit Client(FileDescriptor socket) : connection(std::move(socket)) {}
  StoreConnection connection;
  enum class State { opening, hello, member, leaving } state = State::opening;
  Hello hello;           // of a member
  int64_t leave_at = 0;  // of a stranger
  bool waits = false;    // for the reply of a call
  uint32_t events = EPOLLIN;
};

class Server {
 public:
  Server(Listener listener, JobIdentity identity)
      : listener_(std::move(listener)), gate_(std::move(identity)) {}
  ~Server();

  Status run();
  int port() const { return listener_.port; }

 private:
  void loop();
  int milliseconds_to_wait() const;
  void handle_event(uint64_t about, uint32_t events);
  void accept_some();
  bool make_room();
  void serve(uint64_t id, uint32_t events);
  bool advance(uint64_t id, Client& client);
  bool take_opening(Client& client);
  bool take_hello(uint64_t id, Client& client);
  bool take_request(uint64_t id, Client& client, bool* taken);
  void drop_dead_holder(int rank);
  void drop(uint64_t id);
  void drop_overdue_strangers();
  void deliver_ready();
  void watch(int socket, uint64_t about, uint32_t events, int operation);

  Listener listener_;
  StoreGate gate_;
  StoreTable table_;
  FileDescriptor epoll_, stop_;
  std::unordered_map<uint64_t, Client> clients_;
  std::set<uint64_t> strangers_;  // in the order of their coming
  uint64_t next_id_ = kFirstConnection;
  int64_t accept_again_at_ = 0;  // 0: accepting
  bool stopping_ = false;
  std::thread thread_;
};

Status Server::run() {
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  stop_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !stop_)
    return Status::error(Code::system, "cannot serve the store: no file descriptors left");
  watch(listener_.socket.get(), kListener, EPOLLIN, EPOLL_CTL_ADD);
  watch(stop_.get(), kStop, EPOLLIN, EPOLL_CTL_ADD);
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { loop(); });
  return {};
}

Server::~Server() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Server::watch(int socket, uint64_t about, uint32_t events, int operation) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = about;
  epoll_ctl(epoll_.get(), operation, socket, &event);
}

void Server::loop() {
  epoll_event events[64];
  while (!stopping_) {
    const int count = epoll_wait(epoll_.get(), events, std::size(events), milliseconds_to_wait());
    for (int i = 0; i < count && !stopping_; ++i) handle_event(events[i].data.u64, events[i].events);
    drop_overdue_strangers();
    deliver_ready();
    if (accept_again_at_ != 0 && now_ns() >= accept_again_at_) {
      accept_again_at_ = 0;
      watch(listener_.socket.get(), kListener, EPOLLIN, EPOLL_CTL_MOD);
    }
  }
}

int Server::milliseconds_to_wait() const {
  int64_t next = table_.next_timeout();
  if (!strangers_.empty()) next = std::min(next, clients_.at(*strangers_.begin()).leave_at);
  if (accept_again_at_ != 0) next = std::min(next, accept_again_at_);
  if (next == std::numeric_limits<int64_t>::max()) return -1;
  return static_cast<int>(std::clamp<int64_t>((next - now_ns() + 999'999) / 1'000'000, 0, 1'000'000));
}

void Server::handle_event(uint64_t about, uint32_t events) {
  if (about == kStop) {
    stopping_ = true;
  } else if (about == kListener) {
    accept_some();
  } else {
    serve(about, events);
  }
}

void Server::accept_some() {
  for (int i = 0; i < kAcceptsInARow; ++i) {
    FileDescriptor socket(accept4(listener_.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == ECONNABORTED || errno == EINTR) continue;
      if (errno != EAGAIN && !make_room()) {
        accept_again_at_ = now_ns() + kPauseMs * 1'000'000;
        watch(listener_.socket.get(), kListener, 0, EPOLL_CTL_MOD);
      }
      return;
    }
    if (strangers_.size() >= kMaxStrangers) make_room();
    const uint64_t id = next_id_++;
    watch(socket.get(), id, EPOLLIN, EPOLL_CTL_ADD);
    Client& client = clients_.try_emplace(id, std::move(socket)).first->second;
    client.leave_at = now_ns() + kHelloMs * 1'000'000;
    strangers_.insert(id);
  }
}

// Drops the stranger that has been silent for longest; false: there is none.
bool Server::make_room() {
  if (strangers_.empty()) return false;
  drop(*strangers_.begin());
  return true;
}

void Server::serve(uint64_t id, uint32_t events) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;  // dropped since the event came
  Client& client = found->second;
  bool alive = true;
  try {
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) alive = client.connection.read();
    if (alive && client.connection.has_unsent()) alive = client.connection.send();
    alive = alive && advance(id, client);
  } catch (const std::bad_alloc&) {  // for this client; the others go on
    alive = false;
  }
  if (!alive) drop(id);
}

// Goes on with a client as far as its bytes reach. False: it is to be dropped.
bool Server::advance(uint64_t id, Client& client) {
  if (client.state == Client::State::opening && !take_opening(client)) return false;
  if (client.state == Client::State::hello && !take_hello(id, client)) return false;
  for (bool taken = true; taken && client.state == Client::State::member;)
    if (!take_request(id, client, &taken)) return false;
  if (client.state == Client::State::leaving) client.connection.say_goodbye();
  const uint32_t events = client.connection.has_unsent() ? EPOLLOUT : EPOLLIN;
  if (events != client.events) {
    client.events = events;
    watch(client.connection.socket(), id, events, EPOLL_CTL_MOD);
  }
  return true;
}

bool Server::take_opening(Client& client) {
  const std::string expected = store_protocol::opening(store_protocol::kClientMagic);
  const std::string_view got = client.connection.unread().substr(0, expected.size());
  const size_t magic = std::min(got.size(), store_protocol::kClientMagic.size());
  if (got.substr(0, magic) != std::string_view(expected).substr(0, magic)) return false;
  if (got.size() < expected.size()) return true;
  client.connection.queue(store_protocol::opening(store_protocol::kServerMagic));
  client.state = Client::State::hello;
  if (got != expected) {  // another version: it learns ours, and leaves
    client.state = Client::State::leaving;
    return client.connection.send();
  }
  std::string opening;
  client.connection.take(expected.size(), &opening);
  return true;
}

bool Server::take_hello(uint64_t id, Client& client) {
  std::string body;
  const auto frame = client.connection.take_frame(store_protocol::kMaxHello, &body);
  if (frame == StoreConnection::Frame::incomplete) return true;
  if (frame == StoreConnection::Frame::oversized) return false;
  const auto hello = store_protocol::decode_hello(body);
  if (!hello) return false;
  drop_dead_holder(hello->rank);
  const Reply reply = gate_.check(*hello);
  client.connection.queue(encode(reply));
  client.state = Client::State::leaving;  // it reads why, and closes; else it goes as a stranger
  if (reply.answer == Answer::ok) {
    client.state = Client::State::member;
    client.hello = *hello;
    gate_.enter(*hello);
    strangers_.erase(id);
  }
  return client.connection.send();
}

bool Server::take_request(uint64_t id, Client& client, bool* taken) {
  *taken = false;
  if (client.connection.has_unsent()) return true;
  if (client.waits) return client.connection.unread().empty();  // one call at a time
  std::string body;
  const auto frame = client.connection.take_frame(store_protocol::kMaxRequest, &body);
  if (frame == StoreConnection::Frame::incomplete) return true;
  if (frame == StoreConnection::Frame::oversized) return false;
  auto request = store_protocol::decode_request(body);
  if (!request) return false;
  const auto reply = table_.handle(std::move(*request), id, now_ns());
  client.waits = !reply;
  *taken = true;
  if (!reply) return true;
  client.connection.queue(encode(*reply));
  return client.connection.send();
}

// A process that follows another on the same rank may come before the end of the other's connection was seen.
void Server::drop_dead_holder(int rank) {
  const uint64_t holder = gate_.holder(rank);
  if (holder == 0) return;
  std::vector<uint64_t> dead;
  for (const auto& [id, client] : clients_)
    if (client.state == Client::State::member && client.hello.client == holder && !client.connection.alive())
      dead.push_back(id);
  for (const uint64_t id : dead) drop(id);
}

void Server::drop(uint64_t id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  if (found->second.state == Client::State::member) gate_.leave(found->second.hello);
  table_.forget(id);
  strangers_.erase(id);
  clients_.erase(found);  // closes the socket, which ends its events
}

void Server::drop_overdue_strangers() {
  const int64_t now = strangers_.empty() ? 0 : now_ns();
  while (!strangers_.empty() && clients_.at(*strangers_.begin()).leave_at <= now) make_room();
}

void Server::deliver_ready() {
  for (auto ready = table_.take_ready(now_ns()); !ready.empty(); ready = table_.take_ready(now_ns())) {
    for (const auto& [id, reply] : ready) {
      const auto found = clients_.find(id);
      if (found == clients_.end()) continue;
      found->second.waits = false;
      found->second.connection.queue(encode(reply));
      serve(id, 0);
    }
  }
}

// What the caller holds. A forked child has no server thread, and may have caught the server's data in the
// middle of a change: there it is left as it is.
class Handle final : public StoreServer {
 public:
  explicit Handle(std::unique_ptr<Server> server) : server_(std::move(server)), process_(getpid()) {}
  ~Handle() override {
    if (getpid() != process_) [[maybe_unused]]
      Server* left = server_.release();
  }
  int port() const override { return server_->port(); }

 private:
  std::unique_ptr<Server> server_;
  const pid_t process_;
};

}  // namespace

Result<std::unique_ptr<StoreServer>> StoreServer::start(const std::string& host, int port,
                                                        JobIdentity identity) {
  if (port < 0 || port > 65535)
    return Status::error(Code::invalid_argument, "port {} is not in the range 0 to 65535", port);
  if (identity.job.size() > store_protocol::kMaxName || identity.secret.size() > store_protocol::kMaxName)
    return Status::error(Code::invalid_argument, "job and secret may have {} bytes at most",
                         store_protocol::kMaxName);
  Result<Listener> listener = listen_on(host, port, Deadline::after_ms(10'000));
  if (!listener.ok()) return listener.take_status();
  auto server = std::make_unique<Server>(std::move(*listener), std::move(identity));
  WIA_RETURN_IF_ERROR(server->run());
  return std::unique_ptr<StoreServer>(std::make_unique<Handle>(std::move(server)));
}

}  // namespace wia
