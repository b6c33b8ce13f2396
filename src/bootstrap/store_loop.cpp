#include "bootstrap/store_loop.hpp"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <new>
#include <system_error>

#include "base/signals.hpp"

namespace wia {

using store_protocol::Answer;
using store_protocol::Reply;

namespace {

constexpr int64_t kHelloMs = 10'000;
constexpr size_t kMaxStrangers = 1024;
constexpr int kAcceptsInARow = 64;
constexpr int64_t kPauseMs = 100;  // of accepting, when there are no descriptors

constexpr uint64_t kListener = 0, kStop = 1;  // what an event is about, beside connections

}  // namespace

Status StoreLoop::run() {
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  stop_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !stop_)
    return Status::error(Code::system, "cannot serve the store: no file descriptors left");
  watch(listener_.socket.get(), kListener, EPOLLIN, EPOLL_CTL_ADD);
  watch(stop_.get(), kStop, EPOLLIN, EPOLL_CTL_ADD);
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (const std::system_error& error) {
    return Status::error(Code::system, "cannot serve the store: no thread: {}", error.what());
  }
  return {};
}

StoreLoop::~StoreLoop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void StoreLoop::watch(int socket, uint64_t about, uint32_t events, int operation) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = about;
  epoll_ctl(epoll_.get(), operation, socket, &event);
}

void StoreLoop::loop() {
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

int StoreLoop::milliseconds_to_wait() const {
  int64_t next = table_.next_timeout();
  if (!strangers_.empty()) next = std::min(next, clients_.at(*strangers_.begin()).leave_at);
  if (accept_again_at_ != 0) next = std::min(next, accept_again_at_);
  if (next == std::numeric_limits<int64_t>::max()) return -1;
  return static_cast<int>(std::clamp<int64_t>((next - now_ns() + 999'999) / 1'000'000, 0, 1'000'000));
}

void StoreLoop::handle_event(uint64_t about, uint32_t events) {
  if (about == kStop) {
    stopping_ = true;
  } else if (about == kListener) {
    accept_some();
  } else {
    serve(about, events);
  }
}

void StoreLoop::accept_some() {
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
bool StoreLoop::make_room() {
  if (strangers_.empty()) return false;
  drop(*strangers_.begin());
  return true;
}

void StoreLoop::serve(uint64_t id, uint32_t events) {
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
bool StoreLoop::advance(uint64_t id, Client& client) {
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

bool StoreLoop::take_opening(Client& client) {
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

bool StoreLoop::take_hello(uint64_t id, Client& client) {
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
    note_left(hello->rank, false);
    strangers_.erase(id);
  }
  return client.connection.send();
}

bool StoreLoop::take_request(uint64_t id, Client& client, bool* taken) {
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
void StoreLoop::drop_dead_holder(int rank) {
  const uint64_t holder = gate_.holder(rank);
  if (holder == 0) return;
  std::vector<uint64_t> dead;
  for (const auto& [id, client] : clients_)
    if (client.state == Client::State::member && client.hello.client == holder && !client.connection.alive())
      dead.push_back(id);
  for (const uint64_t id : dead) drop(id);
}

void StoreLoop::drop(uint64_t id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  if (found->second.state == Client::State::member) {
    const int rank = found->second.hello.rank;
    gate_.leave(found->second.hello);
    if (gate_.holder(rank) == 0) note_left(rank, true);
  }
  table_.forget(id);
  strangers_.erase(id);
  clients_.erase(found);  // closes the socket, which ends its events
}

void StoreLoop::note_left(int rank, bool left) {
  if (rank < 0) return;
  store_protocol::Request request;
  request.operation = left ? store_protocol::Operation::set : store_protocol::Operation::erase;
  request.keys = {left_key(rank)};
  table_.handle(std::move(request), 0, now_ns());
}

void StoreLoop::drop_overdue_strangers() {
  const int64_t now = strangers_.empty() ? 0 : now_ns();
  while (!strangers_.empty() && clients_.at(*strangers_.begin()).leave_at <= now) make_room();
}

void StoreLoop::deliver_ready() {
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

}  // namespace wia
