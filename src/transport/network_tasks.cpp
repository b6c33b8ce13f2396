#include "transport/network_tasks.hpp"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/log.hpp"
#include "base/random.hpp"

namespace wia {
namespace {

constexpr int64_t kHelloMs = 10'000;   // for a stranger to say who it is
constexpr int64_t kPathMs = 2'000;     // for one path to work
constexpr int64_t kNextPathMs = 100;   // then the next one is tried beside it; the first that works counts
constexpr int64_t kPauseMs = 100;      // between two rounds of all paths
constexpr int64_t kClosingMs = 5'000;  // for the last bytes
constexpr int64_t kClosingLookMs = 5;
constexpr int64_t kNoDescriptorMs = 100;      // without a free descriptor nobody is let in for so long
constexpr int kRoundsWithoutDescriptor = 10;  // of calls; connections that are being closed may give one back

}  // namespace

bool Listening::on_ready(uint32_t) {
  for (;;) {
    FileDescriptor stranger(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (stranger) {
      network_.hear_stranger(std::move(stranger));
    } else if (errno != EINTR && errno != ECONNABORTED) {
      if (errno == EAGAIN) return true;
      network_.loop_.change(this, 0);
      deadline_ = Deadline::after_ms(kNoDescriptorMs);
      return true;
    }
  }
}

bool Listening::on_time() {
  deadline_ = Deadline::never();
  network_.loop_.change(this, EPOLLIN);
  return true;
}

// --- Strangers --------------------------------------------------------------------------------

Stranger::Stranger(Network& network, FileDescriptor socket)
    : SocketTask(std::move(socket), Deadline::after_ms(kHelloMs)), network_(network) {
  for (uint64_t& part : challenge_.nonce) part = random_bits();
  [[maybe_unused]] const auto sent = send(socket_.get(), &challenge_, sizeof challenge_, MSG_NOSIGNAL);
}

bool Stranger::on_ready(uint32_t) {
  while (got_ < sizeof hello_) {
    const ssize_t got = recv(socket_.get(), reinterpret_cast<char*>(&hello_) + got_, sizeof hello_ - got_, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    got_ += static_cast<size_t>(got);
    if (got_ >= sizeof hello_.magic && hello_.magic != kNetworkMagic) return false;
  }
  return judge();
}

bool Stranger::judge() {
  if (hello_.version != kNetworkVersion) return false;
  // Who has given up by now (this thread was late) will not see an answer.
  char behind;
  if (recv(socket_.get(), &behind, 1, MSG_PEEK) == 0) return false;
  Door* door = nullptr;
  Reply reply;
  reply.answer = network_.answer(hello_, challenge_, &door);
  if (door) reply.proof = prove(reply, hello_, door->key_);
  if (reply.answer == Reply::not_proven) log::warning("a connection of another job was refused");
  const bool sent = send(socket_.get(), &reply, sizeof reply, MSG_NOSIGNAL) == sizeof reply;
  if (!sent || reply.answer != Reply::welcome) return false;
  door->ways_[{hello_.from, hello_.rail}].open = true;
  network_.stop_calls(*door, hello_.from, hello_.rail);
  log::info("rank {} and rank {}: rail {} by the peer's {}", door->rank_, hello_.from, hello_.rail,
            std::string_view(hello_.nic, strnlen(hello_.nic, sizeof hello_.nic)));
  network_.deliver(*door, {hello_.from, hello_.rail, network_.loop_.hand_over(this), {}});
  return false;
}

// --- Callers ----------------------------------------------------------------------------------

std::unique_ptr<Caller> Caller::make(Network& network, Door& door, int peer, int rail, const Path& path,
                                     bool pause) {
  FileDescriptor made(::socket(path.to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int error = made ? 0 : errno;
  std::unique_ptr<Caller> caller(new Caller(network, door, peer, rail, path, std::move(made),
                                            Deadline::after_ms(pause   ? kPauseMs
                                                               : error ? 0
                                                                       : kNextPathMs)));
  caller->error_ = error;
  caller->stage_ = pause ? Stage::pausing : Stage::connecting;
  if (!pause && !error) caller->dial();
  return caller;
}

// From the path's interface and no other, where the system lets us say so.
void Caller::dial() {
  setsockopt(socket_.get(), SOL_SOCKET, SO_BINDTODEVICE, path_.nic.c_str(),
             static_cast<socklen_t>(path_.nic.size()));
  if (bind(socket_.get(), path_.from.raw(), path_.from.length) != 0 ||
      (::connect(socket_.get(), path_.to.raw(), path_.to.length) != 0 && errno != EINPROGRESS)) {
    error_ = errno;
    deadline_ = Deadline::after_ms(0);
  }
}

bool Caller::failed(const std::string& reason, bool refused) {
  if (ended_) return false;
  ended_ = true;
  network_.call_failed(door_, peer_, rail_, fmt::format("{} by {}: {}", path_.to.text(), path_.nic, reason),
                       refused);
  return false;
}

bool Caller::on_time() {
  if (stage_ == Stage::pausing) {
    stage_ = Stage::connecting;
    deadline_ = Deadline::after_ms(kNextPathMs);
    if (error_ == 0) dial();
    if (error_ == 0) return true;
  }
  if (error_ == 0 && !alone_long_enough_) {
    alone_long_enough_ = true;
    deadline_ = Deadline::after_ms(kPathMs - kNextPathMs);
    network_.call_by_next_path(door_, peer_, rail_);
    return true;
  }
  if ((error_ == EMFILE || error_ == ENFILE) && !ended_ &&
      door_.ways_[{peer_, rail_}].rounds >= kRoundsWithoutDescriptor) {
    ended_ = true;
    network_.give_up(door_, peer_, rail_, door_.no_descriptors(peer_));
    return false;
  }
  if (error_ != 0)
    return failed(error_ != ECONNREFUSED ? strerror(error_)
                  : path_.to.is_loopback()
                      ? "connection refused (loopback leads to no other host; WIA_NIC chooses interfaces)"
                      : "connection refused",
                  error_ == ECONNREFUSED);
  return failed(stage_ == Stage::connecting ? "no answer"
                                            : "the connection is accepted, but there is no answer");
}

bool Caller::connected() {
  socklen_t length = sizeof error_;
  getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error_, &length);
  if (error_ != 0) return false;
  stage_ = Stage::awaiting_challenge;
  network_.loop_.change(this, EPOLLIN);
  return true;
}

bool Caller::receive(void* what, size_t bytes) {
  while (got_ < bytes) {
    const ssize_t got = recv(socket_.get(), static_cast<char*>(what) + got_, bytes - got_, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
      error_ = got == 0 ? ECONNRESET : errno;
      return false;
    }
    got_ += static_cast<size_t>(got);
  }
  got_ = 0;
  return true;
}

bool Caller::on_ready(uint32_t events) {
  if (stage_ == Stage::pausing) return true;
  if (stage_ == Stage::connecting) {
    if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP))) return true;
    if (!connected()) return on_time();
  }
  if (stage_ == Stage::awaiting_challenge) {
    if (!receive(&challenge_, sizeof challenge_)) return error_ ? failed(strerror(error_)) : true;
    if (!say_hello()) return false;
  }
  if (!receive(&reply_, sizeof reply_)) return error_ ? failed(strerror(error_)) : true;
  return hear_reply();
}

bool Caller::say_hello() {
  if (challenge_.magic != kNetworkMagic) return failed("something that does not speak this protocol answers");
  if (challenge_.version != kNetworkVersion)
    return failed(fmt::format("another version of this protocol is spoken there ({})", challenge_.version));
  hello_.communicator = door_.communicator_;
  hello_.from = door_.rank_;
  hello_.to = peer_;
  hello_.rail = static_cast<uint16_t>(rail_);
  for (uint64_t& part : hello_.nonce) part = random_bits();
  strncpy(hello_.nic, path_.nic.c_str(), sizeof hello_.nic - 1);
  hello_.proof = prove(hello_, challenge_, door_.key_);
  if (send(socket_.get(), &hello_, sizeof hello_, MSG_NOSIGNAL) != sizeof hello_)
    return failed(strerror(errno));
  stage_ = Stage::awaiting_reply;
  return true;
}

bool Caller::hear_reply() {
  if (reply_.magic != kNetworkMagic) return failed("something that does not speak this protocol answers");
  if (reply_.answer == Reply::not_here) return failed("the rank is not there (any more)", true);
  if (reply_.answer == Reply::not_proven) return failed("another job answers", true);
  if (reply_.proof != prove(reply_, hello_, door_.key_)) return failed("an answer that proves nothing", true);
  if (reply_.answer == Reply::crossed) return failed("the peer is calling");  // its call will come, or has
  Door::Way& way = door_.ways_[{peer_, rail_}];
  --way.calls;
  if (way.open) return false;
  way.open = true;
  network_.stop_calls(door_, peer_, rail_);
  log::info("rank {} and rank {}: rail {} by {}", door_.rank_, peer_, rail_, path_.text());
  network_.deliver(door_, {peer_, rail_, network_.loop_.hand_over(this), {}});
  return false;
}

// --- The end ----------------------------------------------------------------------------------

Closing::Closing(std::atomic<int>& count, FileDescriptor socket, std::vector<std::byte> unsent)
    : SocketTask(std::move(socket), Deadline::after_ms(kClosingLookMs)),
      count_(count),
      unsent_(std::move(unsent)) {
  ++count_;
}

// A socket that is closed with unread bytes resets the connection, and the peer may lose what it has not got
// yet: so everything is read, and the peer's system must have acknowledged what was sent.
bool Closing::on_ready(uint32_t) {
  while (sent_ < unsent_.size()) {
    const ssize_t sent = send(socket_.get(), unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (sent < 0) return false;
    sent_ += static_cast<size_t>(sent);
  }
  shutdown(socket_.get(), SHUT_WR);
  char ignored[4096];
  ssize_t got;
  while ((got = recv(socket_.get(), ignored, sizeof ignored, 0)) > 0) {
  }
  if (got == 0 || (errno != EAGAIN && errno != EINTR)) return false;
  int outstanding = 0;
  return ioctl(socket_.get(), SIOCOUTQ, &outstanding) == 0 && outstanding > 0;
}

bool Closing::on_time() {
  if (!on_ready(0)) return false;
  deadline_ = Deadline::after_ms(kClosingLookMs);
  return ++looks_ < kClosingMs / kClosingLookMs;
}

}  // namespace wia
