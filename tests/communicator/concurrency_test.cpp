// Ranks as threads of one process, over the real shared-memory transport: what the thread sanitizer can see.
// Field case S11.
#include <gtest/gtest.h>
#include <wia/wia.h>

#include <functional>
#include <thread>
#include <vector>

namespace {

// Runs `body` in one thread a rank, each with its own communicator of all.
void on_ranks(int ranks, const std::function<void(int, wia_communicator_t*)>& body) {
  wia_unique_id_t id;
  ASSERT_EQ(wia_get_unique_id(&id), WIA_SUCCESS) << wia_last_error_message();
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      wia_communicator_t* world = nullptr;
      ASSERT_EQ(wia_init_rank(&world, ranks, &id, r), WIA_SUCCESS) << wia_last_error_message();
      body(r, world);
      EXPECT_EQ(wia_communicator_destroy(world), WIA_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

int64_t value(int rank, size_t i) { return (rank + 1) * 1000003 + static_cast<int64_t>(i) * 7919; }

void all_reduce_and_check(wia_communicator_t* comm, size_t count, int64_t add) {
  const int ranks = wia_size(comm), rank = wia_rank(comm);
  std::vector<int64_t> data(count), sum(count, -1);
  for (size_t i = 0; i < count; ++i) data[i] = value(rank, i) + add;
  ASSERT_EQ(wia_all_reduce(data.data(), sum.data(), count, WIA_INT64, WIA_OP_SUM, comm, nullptr), WIA_SUCCESS)
      << wia_last_error_message();
  for (size_t i = 0; i < count; ++i) {
    int64_t want = ranks * add;
    for (int r = 0; r < ranks; ++r) want += value(r, i);
    ASSERT_EQ(sum[i], want) << "element " << i << " of " << count;
  }
}

TEST(Concurrency, RanksAsThreads) {
  on_ranks(4, [](int, wia_communicator_t* world) {
    for (const size_t count : {0, 1, 5, 1000, 100'003}) all_reduce_and_check(world, count, 0);
    EXPECT_EQ(wia_barrier(world), WIA_SUCCESS);
  });
}

TEST(Concurrency, AThreadForEachCommunicator) {
  constexpr int kThreads = 4, kCalls = 50;
  on_ranks(2, [](int rank, wia_communicator_t* world) {
    std::vector<wia_communicator_t*> comms(kThreads);
    for (auto*& comm : comms)
      ASSERT_EQ(wia_communicator_duplicate(world, &comm), WIA_SUCCESS) << wia_last_error_message();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      const int mine = rank == 0 ? t : kThreads - 1 - t;  // another order of threads on each rank
      threads.emplace_back([&, mine] {
        for (int call = 0; call < kCalls; ++call)
          all_reduce_and_check(comms[static_cast<size_t>(mine)], 1 + static_cast<size_t>(call) * 40,
                               mine * 1000 + call);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (auto* comm : comms) EXPECT_EQ(wia_communicator_destroy(comm), WIA_SUCCESS);
  });
}

TEST(Concurrency, DuplicatesMadeAtOnce) {
  on_ranks(2, [](int, wia_communicator_t* world) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
      threads.emplace_back([world] {
        wia_communicator_t* comm = nullptr;
        ASSERT_EQ(wia_communicator_duplicate(world, &comm), WIA_SUCCESS) << wia_last_error_message();
        all_reduce_and_check(comm, 100, 0);
        wia_communicator_destroy(comm);
      });
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(Concurrency, TwoThreadsShareACommunicator) {
  on_ranks(2, [](int, wia_communicator_t* world) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([world] {
        for (int call = 0; call < 50; ++call) all_reduce_and_check(world, 300, 0);
      });
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(Concurrency, ManyAsynchronousCallsInFlight) {
  on_ranks(2, [](int rank, wia_communicator_t* world) {
    constexpr size_t kCalls = 20, kCount = 5000;
    std::vector<std::vector<int64_t>> data(kCalls, std::vector<int64_t>(kCount));
    std::vector<wia_request_t*> requests(kCalls);
    for (size_t c = 0; c < kCalls; ++c) {
      for (size_t i = 0; i < kCount; ++i) data[c][i] = value(rank, i + c);
      ASSERT_EQ(
          wia_all_reduce(data[c].data(), data[c].data(), kCount, WIA_INT64, WIA_OP_SUM, world, &requests[c]),
          WIA_SUCCESS);
    }
    for (size_t c = kCalls; c-- > 0;) {  // in any order
      ASSERT_EQ(wia_request_wait(requests[c], -1), WIA_SUCCESS) << wia_last_error_message();
      for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(data[c][i], value(0, i + c) + value(1, i + c));
    }
  });
}

// Rank 1 enters the barrier only once it has the message that rank 0 sends beside its own wait in it.
TEST(Concurrency, TransfersBesideACollective) {
  on_ranks(2, [](int rank, wia_communicator_t* world) {
    ASSERT_EQ(wia_communicator_set_timeout(world, 20'000), WIA_SUCCESS);
    for (int round = 0; round < 20; ++round) {
      int64_t x = round;
      if (rank == 1) {
        x = -1;
        ASSERT_EQ(wia_recv(&x, 1, WIA_INT64, 0, round, world, nullptr), WIA_SUCCESS)
            << wia_last_error_message();
        ASSERT_EQ(x, round);
        ASSERT_EQ(wia_barrier(world), WIA_SUCCESS) << wia_last_error_message();
        continue;
      }
      std::thread waiter([world] { EXPECT_EQ(wia_barrier(world), WIA_SUCCESS) << wia_last_error_message(); });
      EXPECT_EQ(wia_send(&x, 1, WIA_INT64, 1, round, world, nullptr), WIA_SUCCESS)
          << wia_last_error_message();
      waiter.join();
    }
  });
}

TEST(Concurrency, DestroyDuringACallOfAnotherThread) {
  on_ranks(2, [](int rank, wia_communicator_t* world) {
    wia_communicator_t* comm = nullptr;
    ASSERT_EQ(wia_communicator_duplicate(world, &comm), WIA_SUCCESS);
    if (rank == 0) {  // rank 1 never enters the call
      std::thread waiter([comm] { EXPECT_LT(wia_barrier(comm), WIA_SUCCESS); });
      std::thread sender([comm] {
        int64_t x = 1;
        wia_request_t* request = nullptr;  // rank 1 takes no message either
        if (wia_send(&x, 1, WIA_INT64, 1, 0, comm, &request) == WIA_SUCCESS) wia_request_wait(request, -1);
      });
      EXPECT_EQ(wia_communicator_destroy(comm), WIA_SUCCESS);
      waiter.join();
      sender.join();
    }
    all_reduce_and_check(world, 100, 0);
  });
}

TEST(Concurrency, AbortEndsAWaitInAnotherThread) {
  on_ranks(2, [](int rank, wia_communicator_t* world) {
    if (rank == 1) return;  // never calls; leaves only after rank 0 has
    std::thread waiter([world] {
      int64_t x = 1;
      const wia_status_t status = wia_all_reduce(&x, &x, 1, WIA_INT64, WIA_OP_SUM, world, nullptr);
      EXPECT_LT(status, WIA_SUCCESS);
    });
    EXPECT_EQ(wia_communicator_abort(world), WIA_SUCCESS);
    waiter.join();
    EXPECT_LT(wia_barrier(world), WIA_SUCCESS);
  });
}

}  // namespace
