#include "bootstrap/resolve.hpp"

#include <netdb.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/signals.hpp"

namespace wia {
namespace {

// What the resolver says; `error` as getaddrinfo gives it.
struct Answer {
  int error = 0;
  std::vector<Address> addresses;
};

Answer look_up(const std::string& host, int port, Purpose purpose, int flags) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags | (purpose == Purpose::listen ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  Answer answer;
  answer.error =
      getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (answer.error != 0) return answer;
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    Address address;
    memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.length = entry->ai_addrlen;
    answer.addresses.push_back(address);
  }
  freeaddrinfo(list);
  return answer;
}

// Shared with the resolver's thread, which may outlive the wait.
struct Lookup {
  std::mutex mutex;
  std::condition_variable done_changed;
  bool done = false;
  Answer answer;
};

// False: the deadline passed first.
bool look_up_within(const std::string& host, int port, Purpose purpose, Deadline deadline, Answer* answer) {
  auto lookup = std::make_shared<Lookup>();
  const auto work = [lookup, host, port, purpose] {
    Answer found = look_up(host, port, purpose, 0);
    const std::lock_guard lock(lookup->mutex);
    lookup->answer = std::move(found);
    lookup->done = true;
    lookup->done_changed.notify_all();
  };
  try {
    const SignalsBlocked blocked;
    std::thread(work).detach();
  } catch (const std::system_error&) {
    work();  // no thread can be had: without a time limit, then
  }
  std::unique_lock lock(lookup->mutex);
  const auto limit = std::chrono::milliseconds(deadline.left_ms());
  if (!lookup->done_changed.wait_for(lock, limit, [&] { return lookup->done; })) return false;
  *answer = std::move(lookup->answer);
  return true;
}

}  // namespace

Result<std::vector<Address>> resolve(const std::string& host, int port, Purpose purpose, Deadline deadline) {
  const std::string bare = without_brackets(host);
  Answer answer = look_up(bare, port, purpose, AI_NUMERICHOST);  // needs no name server
  if (answer.error == EAI_NONAME && !look_up_within(bare, port, purpose, deadline, &answer))
    return Status::error(Code::timeout, "no answer about the host name \"{}\" from the resolver", bare);
  if (answer.error != 0 || answer.addresses.empty())
    return Status::error(Code::unreachable, "no such host \"{}\" ({})", bare, gai_strerror(answer.error));
  if (bare.empty() && purpose == Purpose::listen)
    std::stable_sort(answer.addresses.begin(), answer.addresses.end(),
                     [](const Address& a, const Address& b) { return a.family() > b.family(); });
  return std::move(answer.addresses);
}

}  // namespace wia
