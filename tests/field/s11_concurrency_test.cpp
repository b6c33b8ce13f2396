// Field case S11: many threads and many communicators, in different order on different ranks. The same with
// ranks as threads of one process: tests/communicator/concurrency_test.cpp, which the thread sanitizer sees.
#include <atomic>
#include <random>
#include <thread>

#include "field/data.hpp"

namespace wia::field {
namespace {

// All-reduces of values that belong to this thread and this call alone; of the same every time, where `same`.
int reduce_own_values(wia_communicator_t* comm, int thread, int calls, size_t count, bool same = false) {
  Buffer<> x(count);
  const int ranks = wia_size(comm), me = wia_rank(comm);
  for (int call = 0; call < calls; ++call) {
    const int64_t add = same ? 0 : thread * 1'000'000'007LL + call;
    for (size_t i = 0; i < count; ++i) x.set(i, value(me, i) + add);
    WIA_OK(wia_all_reduce(x.data(), x.data(), count, WIA_INT64, WIA_OP_SUM, comm, nullptr));
    for (size_t i = 0; i < count; ++i) WIA_CHECK(x.get(i) == sum(ranks, i) + ranks * add);
  }
  WIA_CHECK(x.intact());
  return 0;
}

// Runs body(thread) in so many threads; how many of them failed.
int in_threads(int threads, const std::function<int(int)>& body) {
  std::atomic<int> failed{0};
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) running.emplace_back([&, t] { failed += body(t); });
  for (std::thread& thread : running) thread.join();
  return failed;
}

TEST(ConcurrencyS11, AThreadForEachCommunicator) {
  expect_good(run_ranks(2, [](int me) {
    constexpr int kThreads = 8;
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 30'000));
    std::vector<wia_communicator_t*> comms(kThreads);
    for (auto*& comm : comms) WIA_OK(wia_communicator_duplicate(w, &comm));
    return in_threads(kThreads, [&](int t) {
      std::minstd_rand random(static_cast<unsigned>(me * 100 + t + 1));
      usleep(random() % 5000);
      const int mine = me == 0 ? t : kThreads - 1 - t;
      return reduce_own_values(comms[static_cast<size_t>(mine)], mine, 500,
                               1 + static_cast<size_t>(mine) * 9);
    });
  }));
}

TEST(ConcurrencyS11, DuplicatesMadeAtOnce) {
  expect_good(run_ranks(2, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 30'000));
    return in_threads(6, [&](int) {
      wia_communicator_t* comm = nullptr;
      WIA_OK(wia_communicator_duplicate(w, &comm));
      WIA_RUN(reduce_own_values(comm, 0, 50, 100));
      WIA_OK(wia_communicator_destroy(comm));
      return 0;
    });
  }));
}

TEST(ConcurrencyS11, TwoThreadsOnOneCommunicator) {
  expect_good(run_ranks(2, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 30'000));
    // Which thread's call meets which one's of the other rank is open: their data is the same.
    return in_threads(2, [&](int) { return reduce_own_values(w, 0, 200, 300, true); });
  }));
}

// A thread may send and receive while another one waits in a collective of the same communicator.
TEST(ConcurrencyS11, TransfersBesideACollective) {
  expect_good(run_ranks(2, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 5'000));
    for (int round = 0; round < 20; ++round) {
      int64_t x = 0;
      if (me == 1) {  // enters the barrier only once it has the message
        WIA_OK(wia_recv(&x, 1, WIA_INT64, 0, round, w, nullptr));
        WIA_CHECK(x == round);
        WIA_OK(wia_barrier(w));
        continue;
      }
      std::atomic<bool> entering{false};
      int failed = 0;
      std::thread waiter([&] {
        entering = true;
        failed = wia_barrier(w) != WIA_SUCCESS;
      });
      while (!entering) std::this_thread::yield();
      usleep(2000);  // most likely it is in there by now
      const int64_t message = round;
      const wia_status_t sent = wia_send(&message, 1, WIA_INT64, 1, round, w, nullptr);
      waiter.join();
      WIA_CHECK(sent == WIA_SUCCESS && !failed);
    }
    return check_sum(w);
  }));
}

}  // namespace
}  // namespace wia::field
