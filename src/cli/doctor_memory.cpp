#include "cli/doctor_memory.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_descriptor.hpp"
#include "transport/shm_heap.hpp"

namespace wia::cli {
namespace {

constexpr int kLimitMs = 10'000;
constexpr uint64_t kQuestion = 0x1badcafe5eed0001, kAnswer = 0x1badcafe5eed0002;

// What the child says about its heap.
struct Offer {
  bool made = false;
  size_t bytes = 0, offset = 0;
  char text[512] = {};  // the heap's address, or what failed
};

void set_text(Offer& offer, const std::string& text) {
  strncpy(offer.text, text.c_str(), sizeof offer.text - 1);
}

// The child: makes the heap, offers it, waits for the answer. The exit code says whether it came.
int offer_heap(size_t heap_bytes, int output, int input) {
  Offer offer;
  uint64_t* word = nullptr;
  if (auto heap = ShmHeap::instance(heap_bytes); !heap) {
    set_text(offer, heap.status().text());
  } else if (auto block = heap.value()->allocate(sizeof *word); !block) {
    set_text(offer, block.status().text());
  } else {
    word = reinterpret_cast<uint64_t*>(block.value());
    *word = kQuestion;
    offer.made = true;
    offer.bytes = heap.value()->bytes();
    offer.offset = static_cast<size_t>(block.value() - heap.value()->base());
    set_text(offer, heap.value()->address());
  }
  if (write(output, &offer, sizeof offer) != sizeof offer || !word) return 1;
  char end;
  pollfd wait = {input, POLLIN, 0};
  poll(&wait, 1, kLimitMs);
  if (read(input, &end, 1) < 0) return 1;
  return *word == kAnswer ? 0 : 1;
}

Result<size_t> take_offer(int input) {
  Offer offer;
  pollfd wait = {input, POLLIN, 0};
  if (poll(&wait, 1, kLimitMs) <= 0 || read(input, &offer, sizeof offer) != sizeof offer)
    return Status(Code::system, "a child process that makes a shared heap has ended or hangs");
  if (!offer.made) return Status(Code::system, offer.text);
  const auto heap = PeerHeap::open(offer.text);
  if (!heap) return Status(heap.status().code(), heap.status().text());
  auto* word = reinterpret_cast<uint64_t*>(heap.value()->base() + offer.offset);
  if (*word != kQuestion) return Status(Code::system, "a shared heap does not show what its process wrote");
  *word = kAnswer;
  return offer.bytes;
}

}  // namespace

Result<size_t> try_shared_heap(size_t heap_bytes) {
  int from_child[2], to_child[2];
  if (pipe2(from_child, O_CLOEXEC) != 0) return Status::error(Code::system, "pipe: {}", strerror(errno));
  FileDescriptor read_end(from_child[0]), child_output(from_child[1]);
  if (pipe2(to_child, O_CLOEXEC) != 0) return Status::error(Code::system, "pipe: {}", strerror(errno));
  FileDescriptor child_input(to_child[0]), write_end(to_child[1]);
  const pid_t child = fork();
  if (child < 0) return Status::error(Code::system, "no child process: {}", strerror(errno));
  if (child == 0) {
    write_end.reset();
    _exit(offer_heap(heap_bytes, child_output.get(), child_input.get()));
  }
  child_output.reset();
  auto taken = take_offer(read_end.get());
  write_end.reset();  // the child looks now
  int status = 0;
  if (!taken) kill(child, SIGKILL);
  const bool answered = waitpid(child, &status, 0) == child && status == 0;
  if (taken && !answered)
    return Status(Code::system, "a process does not see what another wrote to its heap");
  return taken;
}

}  // namespace wia::cli
