#include "bootstrap/store_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/parse.hpp"

namespace wia {

using store_protocol::Answer;
using store_protocol::Operation;
using store_protocol::Reply;
using store_protocol::Request;

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

Reply refusal(std::string text) {
  Reply reply;
  reply.answer = Answer::bad_request;
  reply.text = std::move(text);
  return reply;
}

Reply value_reply(std::string value) {
  Reply reply;
  reply.values.push_back(std::move(value));
  return reply;
}

}  // namespace

std::optional<Reply> StoreTable::handle(Request request, uint64_t caller, int64_t now) {
  const std::string& key = request.keys.front();
  switch (request.operation) {
    case Operation::set:
      return put(key, std::move(request.value));
    case Operation::set_if_absent: {
      const auto found = values_.find(key);
      if (found != values_.end()) return value_reply(found->second);
      Reply reply = put(key, request.value);
      return reply.answer == Answer::ok ? value_reply(std::move(request.value)) : reply;
    }
    case Operation::get_all:
      return get_all(std::move(request), caller, now);
    case Operation::add:
      return add(key, request.amount);
    case Operation::erase:
      erase(key);
      return Reply();
  }
  return refusal("unknown operation");
}

Reply StoreTable::put(const std::string& key, std::string value) {
  const auto found = values_.find(key);
  const size_t before = found == values_.end() ? 0 : key.size() + found->second.size();
  const size_t after = total_ - before + key.size() + value.size();
  if (after > kMaxTotal) return refusal(fmt::format("the store is full ({} bytes)", total_));
  total_ = after;
  values_[key] = std::move(value);
  wake(key);
  return Reply();
}

Reply StoreTable::add(const std::string& key, int64_t amount) {
  int64_t sum = 0;
  if (const auto found = values_.find(key); found != values_.end()) {
    const auto number = parse_integer(found->second);
    if (!number) return refusal("the value to add to is not a number");
    sum = *number;
  }
  if (__builtin_add_overflow(sum, amount, &sum)) return refusal("the sum overflows");
  Reply reply = put(key, std::to_string(sum));
  return reply.answer == Answer::ok ? value_reply(std::to_string(sum)) : reply;
}

void StoreTable::erase(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return;
  total_ -= key.size() + found->second.size();
  values_.erase(found);
}

std::optional<size_t> StoreTable::first_missing(const std::vector<std::string>& keys) const {
  for (size_t i = 0; i < keys.size(); ++i)
    if (!values_.contains(keys[i])) return i;
  return std::nullopt;
}

Reply StoreTable::values_of(const std::vector<std::string>& keys) const {
  Reply reply;
  for (const std::string& key : keys) reply.values.push_back(values_.at(key));
  return reply;
}

Reply StoreTable::missing_of(const std::vector<std::string>& keys) const {
  Reply reply;
  reply.answer = Answer::timeout;
  for (size_t i = 0; i < keys.size(); ++i)
    if (!values_.contains(keys[i])) reply.missing.push_back(static_cast<uint32_t>(i));
  return reply;
}

std::optional<Reply> StoreTable::get_all(Request request, uint64_t caller, int64_t now) {
  const auto missing = first_missing(request.keys);
  if (!missing) return values_of(request.keys);
  if (request.timeout_ms == 0) return missing_of(request.keys);
  Waiting waiting;
  waiting.waits_for = *missing;
  waiting.timeout =
      request.timeout_ms == store_protocol::kForever ? kNever : now + request.timeout_ms * 1'000'000ll;
  waiters_[request.keys[*missing]].push_back(caller);
  timeouts_.emplace(waiting.timeout, caller);
  waiting.keys = std::move(request.keys);
  waiting_.insert_or_assign(caller, std::move(waiting));
  return std::nullopt;
}

// The key has a value now: whoever waited for it is complete, or waits for its next missing key.
void StoreTable::wake(const std::string& key) {
  auto woken = waiters_.extract(key);
  if (woken.empty()) return;
  for (const uint64_t caller : woken.mapped()) {
    Waiting& waiting = waiting_.at(caller);
    if (const auto missing = first_missing(waiting.keys)) {
      waiting.waits_for = *missing;
      waiters_[waiting.keys[*missing]].push_back(caller);
      continue;
    }
    ready_.emplace_back(caller, values_of(waiting.keys));
    timeouts_.erase({waiting.timeout, caller});
    waiting_.erase(caller);
  }
}

std::vector<std::pair<uint64_t, Reply>> StoreTable::take_ready(int64_t now) {
  while (!timeouts_.empty() && timeouts_.begin()->first <= now) {
    const uint64_t caller = timeouts_.begin()->second;
    ready_.emplace_back(caller, missing_of(waiting_.at(caller).keys));
    forget(caller);
  }
  return std::exchange(ready_, {});
}

int64_t StoreTable::next_timeout() const { return timeouts_.empty() ? kNever : timeouts_.begin()->first; }

void StoreTable::forget(uint64_t caller) {
  const auto found = waiting_.find(caller);
  if (found == waiting_.end()) return;
  const auto waiters = waiters_.find(found->second.keys[found->second.waits_for]);
  std::erase(waiters->second, caller);
  if (waiters->second.empty()) waiters_.erase(waiters);
  timeouts_.erase({found->second.timeout, caller});
  waiting_.erase(found);
}

}  // namespace wia
