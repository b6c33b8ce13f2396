// Field case S20: children forked after the start, as data loaders are, change nothing for the parent.
#include "field/data.hpp"

// At its exit a child asks for locks of the address sanitizer that a thread held at the fork, which the child
// does not have: it would wait for ever. So it does not look for leaks. Outside the sanitizer nobody calls
// this.
static bool is_child = false;
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() { return is_child; }

namespace wia::field {
namespace {

enum class Child { leaves, exits, calls, exits_after_use };

int be_child(Child kind, wia_communicator_t* w, const int64_t* data) {
  is_child = true;
  int64_t seen = data[0];  // reads the parent's memory
  switch (kind) {
    case Child::leaves:
      _exit(seen == value(3, 0) ? 0 : 1);
    case Child::exits:
      std::exit(seen == value(3, 0) ? 0 : 1);
    default: {
      const double began = seconds();
      const bool refused =
          wia_all_reduce(&seen, &seen, 1, WIA_INT64, WIA_OP_SUM, w, nullptr) == WIA_ERROR_FORKED &&
          wia_barrier(w) == WIA_ERROR_FORKED && says("fork") && wia_finalize() == WIA_ERROR_FORKED &&
          wia_communicator_destroy(w) == WIA_ERROR_FORKED && seconds() - began < 1;
      if (kind == Child::calls) _exit(refused ? 0 : 1);
      std::exit(refused ? 0 : 1);
    }
  }
}

int sum_while_children_run(bool shared) {
  wia_communicator_t* w = nullptr;
  WIA_RUN(start(&w));
  WIA_RUN(check_sum(w));
  wia_request_t* request = nullptr;
  WIA_OK(wia_barrier_async(w, &request));  // with the progress thread running
  WIA_OK(wia_request_wait(request, -1));
  Buffer<> data(1000, shared);
  data.fill(3);
  std::vector<pid_t> children;
  for (const Child kind : {Child::leaves, Child::exits, Child::calls, Child::exits_after_use}) {
    const pid_t child = fork();
    if (child == 0) _exit(be_child(kind, w, data.data()));
    children.push_back(child);
  }
  for (int i = 0; i < 100; ++i) WIA_RUN(check_sum(w, 2000));
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    WIA_CHECK(status == 0);
  }
  for (int i = 0; i < 100; ++i) WIA_RUN(check_sum(w, 2000));
  wia_communicator_t* group = nullptr;  // the store is as it was, too
  WIA_OK(wia_communicator_duplicate(w, &group));
  WIA_RUN(check_sum(group));
  for (size_t i = 0; i < 1000; ++i) WIA_CHECK(data.get(i) == value(3, i));
  return 0;
}

TEST(S20, ForkedChildrenChangeNothing) {
  for (const bool shared : {false, true})
    expect_good(run_ranks(2, [shared](int) { return sum_while_children_run(shared); }));
}

// A child may start another program, which is a job of its own.
TEST(S20, AChildMayBecomeAnotherProgram) {
  expect_good(run_ranks(2, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(1);
    }
    WIA_RUN(check_sum(w, 2000));
    int status = 1;
    waitpid(child, &status, 0);
    WIA_CHECK(status == 0);
    return check_sum(w);
  }));
}

}  // namespace
}  // namespace wia::field
