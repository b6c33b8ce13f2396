// The client of the store.
//
// A call takes an idle connection, or opens one, sends its request and reads the reply; then the connection
// is idle again. A connection on which anything went wrong is closed, so that no reply is ever taken for
// another's.
#include "bootstrap/store_client.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "base/parse.hpp"
#include "base/random.hpp"
#include "bootstrap/socket.hpp"
#include "bootstrap/store_handshake.hpp"
#include "bootstrap/store_protocol.hpp"

namespace wia {
namespace {

using store_protocol::Answer;
using store_protocol::Operation;
using store_protocol::Reply;
using store_protocol::Request;

// For the answer to a call that does not wait, and after the deadline of one that does.
constexpr int64_t kAnswerMs = 30'000;
constexpr int64_t kGraceMs = 2'000;
constexpr size_t kMaxIdle = 2;

Request make_request(Operation operation, std::string_view key, std::string_view value = {}) {
  Request request;
  request.operation = operation;
  request.keys.emplace_back(key);
  request.value = value;
  return request;
}

class Client final : public Store {
 public:
  Client(std::string host, int port, store_protocol::Hello hello, FileDescriptor first)
      : host_(std::move(host)), port_(port), hello_(std::move(hello)), process_(getpid()) {
    idle_.push_back(std::move(first));
  }

  using Store::set;
  Status set(std::string_view key, std::string_view value, Deadline deadline) override {
    return exchange(make_request(Operation::set, key, value), deadline).take_status();
  }

  Result<std::string> set_if_absent(std::string_view key, std::string_view value) override {
    return only_value(call(make_request(Operation::set_if_absent, key, value)));
  }

  Result<std::string> get(std::string_view key, Deadline deadline) override {
    Result<std::vector<std::string>> values = get_all({std::string(key)}, deadline, nullptr);
    if (!values.ok()) return values.take_status();
    return std::move(values->front());
  }

  Result<std::vector<std::string>> get_all(const std::vector<std::string>& keys, Deadline deadline,
                                           std::vector<int>* missing) override;

  Result<int64_t> add(std::string_view key, int64_t amount) override {
    Request request = make_request(Operation::add, key);
    request.amount = amount;
    Result<std::string> sum = only_value(call(request));
    if (!sum.ok()) return sum.take_status();
    const auto number = parse_integer(*sum);
    if (!number) return Status::error(Code::protocol, "the store at {} gave no sum", place());
    return *number;
  }

  Status erase(std::string_view key) override {
    return call(make_request(Operation::erase, key)).take_status();
  }

 private:
  std::string place() const { return host_and_port(host_, port_); }
  Status check(const Request& request) const;
  Result<Reply> call(const Request& request) { return exchange(request, Deadline::after_ms(kAnswerMs)); }
  Result<Reply> exchange(const Request& request, Deadline deadline);
  Result<FileDescriptor> take_connection(Deadline deadline);
  void give_back(FileDescriptor connection);
  Result<std::string> only_value(Result<Reply> reply) const;

  const std::string host_;
  const int port_;
  const store_protocol::Hello hello_;
  const pid_t process_;
  std::mutex mutex_;
  std::vector<FileDescriptor> idle_;
};

Status Client::check(const Request& request) const {
  if (getpid() != process_)
    return Status(Code::forked, "the store's connection belongs to the parent process");
  for (const std::string& key : request.keys)
    if (key.size() > store_protocol::kMaxKey)
      return Status::error(Code::invalid_argument, "a key of {} bytes; {} are allowed", key.size(),
                           store_protocol::kMaxKey);
  if (request.value.size() > store_protocol::kMaxValue)
    return Status::error(Code::invalid_argument, "the value of \"{}\" has {} bytes; {} are allowed",
                         request.keys.front(), request.value.size(), store_protocol::kMaxValue);
  return {};
}

Result<FileDescriptor> Client::take_connection(Deadline deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      FileDescriptor connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return open_store_connection(host_, port_, hello_, deadline);
}

void Client::give_back(FileDescriptor connection) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(connection));
}

Result<Reply> Client::exchange(const Request& request, Deadline deadline) {
  WIA_RETURN_IF_ERROR(check(request));
  Result<FileDescriptor> connection = take_connection(deadline);
  Result<Reply> reply = connection.take_status();
  if (connection.ok()) {
    const Status sent = send_all(connection->get(), encode(request), deadline);
    if (sent.ok())
      reply = receive_store_reply(connection->get(), deadline);
    else
      reply = sent.copy();
  }
  if (!reply.ok())
    return Status::error(reply.status().code(),
                         "lost the store at {}: {}; has the process that serves it ended?", place(),
                         reply.status().text());
  give_back(std::move(*connection));
  if (reply->answer != Answer::ok && reply->answer != Answer::timeout)
    return Status::error(Code::invalid_argument, "the store at {} refuses \"{}\": {}", place(),
                         request.keys.front(), reply->text);
  return reply;
}

Result<std::string> Client::only_value(Result<Reply> reply) const {
  if (!reply.ok()) return reply.take_status();
  if (reply->values.size() != 1)
    return Status::error(Code::protocol, "the store at {} gave no value", place());
  return std::move(reply->values.front());
}

Result<std::vector<std::string>> Client::get_all(const std::vector<std::string>& keys, Deadline deadline,
                                                 std::vector<int>* missing) {
  const int64_t began = now_ns();
  std::vector<std::string> values;
  std::vector<int> without;
  for (size_t first = 0; first < keys.size(); first += store_protocol::kMaxKeysPerRequest) {
    const size_t end = std::min(first + store_protocol::kMaxKeysPerRequest, keys.size());
    Request request;
    request.operation = Operation::get_all;
    request.keys.assign(keys.begin() + static_cast<ptrdiff_t>(first),
                        keys.begin() + static_cast<ptrdiff_t>(end));
    // Once one part is late, the others are only asked what is missing.
    const int wait_ms = without.empty() ? deadline.left_ms() : 0;
    request.timeout_ms = deadline.is_never() ? store_protocol::kForever : static_cast<uint32_t>(wait_ms);
    const Deadline answer_by = deadline.is_never() ? deadline : Deadline::after_ms(wait_ms + kGraceMs);
    Result<Reply> reply = exchange(request, answer_by);
    if (!reply.ok()) return reply.take_status();
    for (const uint32_t index : reply->missing) without.push_back(static_cast<int>(first + index));
    std::move(reply->values.begin(), reply->values.end(), std::back_inserter(values));
  }
  if (without.empty() && values.size() == keys.size()) return values;
  if (without.empty()) return Status::error(Code::protocol, "the store at {} gave too few values", place());
  if (missing) *missing = without;
  return Status::error(Code::timeout, "no value for \"{}\"{} in the store at {} after {:.1f} s",
                       keys[static_cast<size_t>(without.front())],
                       without.size() == 1 ? "" : fmt::format(" and {} other keys", without.size() - 1),
                       place(), static_cast<double>(now_ns() - began) / 1e9);
}

}  // namespace

Result<std::unique_ptr<Store>> connect_store_once(const std::string& host, int port,
                                                  const JobIdentity& identity, Deadline deadline) {
  if (port < 1 || port > 65535)
    return Status::error(Code::invalid_argument, "port {} is not in the range 1 to 65535", port);
  for (const std::string* name : {&identity.job, &identity.secret, &identity.member})
    if (name->size() > store_protocol::kMaxName)
      return Status::error(Code::invalid_argument, "job and secret may have {} bytes at most",
                           store_protocol::kMaxName);
  store_protocol::Hello hello;
  hello.world_size = static_cast<uint32_t>(identity.world_size);
  hello.rank = identity.rank;
  hello.client = random_bits() | 1;
  hello.job = identity.job;
  hello.secret = identity.secret;
  hello.member = identity.member;
  Result<FileDescriptor> connection = open_store_connection(host, port, hello, deadline);
  if (!connection.ok()) return connection.take_status();
  return std::unique_ptr<Store>(
      std::make_unique<Client>(host, port, std::move(hello), std::move(*connection)));
}

}  // namespace wia
