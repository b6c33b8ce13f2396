// Field case S10: groups made by their members only, at the same time, in any order; wrong lists are refused.
#include "field/data.hpp"

namespace wia::field {
namespace {

// The sum over exactly these ranks of the world.
int check_members(wia_communicator_t* comm, const std::vector<int>& members) {
  WIA_CHECK(wia_size(comm) == static_cast<int>(members.size()));
  for (size_t r = 0; r < members.size(); ++r) WIA_CHECK(comm->ranks[r] == members[r]);
  Buffer<> x(100);
  x.fill(members[static_cast<size_t>(wia_rank(comm))]);
  WIA_OK(wia_all_reduce(x.data(), x.data(), 100, WIA_INT64, WIA_OP_SUM, comm, nullptr));
  for (size_t i = 0; i < 100; ++i) {
    int64_t wanted = 0;
    for (const int member : members) wanted += value(member, i);
    WIA_CHECK(x.get(i) == wanted);
  }
  WIA_OK(wia_barrier(comm));
  WIA_CHECK(x.intact());
  return 0;
}

int make(wia_communicator_t* w, const std::vector<int>& ranks, wia_communicator_t** out) {
  WIA_OK(wia_communicator_create(w, ranks.data(), static_cast<int>(ranks.size()), out));
  return 0;
}

TEST(S10, DisjointGroupsAtTheSameTime) {
  expect_good(run_ranks(4, [](int me) {
    wia_communicator_t *w = nullptr, *pair = nullptr;
    WIA_RUN(start(&w));
    const std::vector<int> members = me % 3 ? std::vector{1, 2} : std::vector{0, 3};
    WIA_RUN(make(w, members, &pair));
    WIA_RUN(check_members(pair, members));
    return check_sum(w);
  }));
}

TEST(S10, RowsAndColumnsInDifferentOrder) {
  expect_good(run_ranks(4, [](int me) {
    wia_communicator_t *w = nullptr, *row = nullptr, *column = nullptr;
    WIA_RUN(start(&w));
    const std::vector<int> in_row = me < 2 ? std::vector{0, 1} : std::vector{2, 3};
    const std::vector<int> in_column = me % 2 ? std::vector{1, 3} : std::vector{0, 2};
    // Each group is made by two: ranks 0 and 1 begin with their row, 2 and 3 with theirs, then all columns;
    // the other way around would be a circle that no order of calls gets out of.
    WIA_RUN(make(w, in_row, &row));
    WIA_RUN(make(w, in_column, &column));
    for (int i = 0; i < 20; ++i) {
      // Collectives on different communicators are free in their order, as long as no circle waits.
      WIA_RUN(check_members(row, in_row));
      WIA_RUN(check_members(column, in_column));
    }
    wia_request_t *first = nullptr, *second = nullptr;
    int64_t x = me, y = me;
    auto* const one = me % 2 ? row : column;
    auto* const two = me % 2 ? column : row;
    WIA_OK(wia_all_reduce(&x, &x, 1, WIA_INT64, WIA_OP_SUM, one, &first));
    WIA_OK(wia_all_reduce(&y, &y, 1, WIA_INT64, WIA_OP_SUM, two, &second));
    WIA_OK(wia_request_wait(second, -1));
    WIA_OK(wia_request_wait(first, -1));
    const int64_t of_row = me < 2 ? 1 : 5, of_column = me % 2 ? 4 : 2;
    WIA_CHECK(x == (me % 2 ? of_row : of_column) && y == (me % 2 ? of_column : of_row));
    return 0;
  }));
}

// A circle of groups that wait for one another is an order problem: it ends in time and says who is missing.
TEST(S10, ACircleOfGroupsEndsInTime) {
  expect_good(run_ranks(4, [](int me) {
    wia_communicator_t *w = nullptr, *group = nullptr;
    WIA_RUN(start(&w, 1000));
    const std::vector<int> first[] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};
    const auto& mine = first[me];
    const double began = seconds();
    WIA_CHECK(wia_communicator_create(w, mine.data(), 2, &group) == WIA_ERROR_TIMEOUT);
    WIA_CHECK(seconds() - began < 1 + 5 && says(("rank " + std::to_string(mine[1])).c_str(), "1.0 s"));
    return check_sum(w);  // the world is as it was
  }));
}

// A member that comes after another has given up is told so, and writes into nothing of that one's.
TEST(S10, WhoComesTooLateIsTold) {
  Job job(2, [](int me) {
    wia_communicator_t *w = nullptr, *pair = nullptr;
    WIA_RUN(start(&w, 400));
    if (me == 1) {
      int64_t go = 0;
      WIA_OK(wia_communicator_set_timeout(w, 10'000));
      WIA_OK(wia_recv(&go, 1, WIA_INT64, 0, 0, w, nullptr));
    }
    if (me == 0) {
      WIA_CHECK(wia_communicator_duplicate(w, &pair) == WIA_ERROR_TIMEOUT && says("rank 1"));
      std::vector<unsigned char*> blocks;
      for (int i = 0; i < 8; ++i) {  // would get the memory that rank 1 believes to be the communicator's
        auto* block = static_cast<unsigned char*>(wia_alloc(size_t{1} << 20));
        blocks.push_back(block);
        std::memset(block, 0x33, size_t{1} << 20);
      }
      int64_t go = 1;
      WIA_OK(wia_communicator_set_timeout(w, 10'000));
      WIA_OK(wia_send(&go, 1, WIA_INT64, 1, 0, w, nullptr));
      WIA_RUN(check_sum(w));
      for (const unsigned char* block : blocks)
        for (size_t i = 0; i < size_t{1} << 20; ++i) WIA_CHECK(block[i] == 0x33);
    } else {
      WIA_OK(wia_communicator_duplicate(w, &pair));
      const double began = seconds();
      const wia_status_t status = wia_barrier(pair);
      WIA_CHECK(seconds() - began < 5);
      if (over().network() && status == WIA_ERROR_PEER_FAILED)  // rank 0 left no word in a memory of both
        WIA_CHECK(says("rank 0", "is not there"));
      else
        WIA_CHECK(status == WIA_ERROR_TIMEOUT && says("rank 0 waited 0.", "for rank 1"));
      WIA_RUN(check_sum(w));
    }
    WIA_OK(wia_communicator_duplicate(w, &pair));  // now together
    return check_sum(pair);
  });
  expect_good(job.collect());
}

TEST(S10, SplitsAreOrderedByKey) {
  expect_good(run_ranks(4, [](int me) {
    wia_communicator_t *w = nullptr, *part = nullptr, *none = nullptr;
    WIA_RUN(start(&w));
    WIA_OK(wia_communicator_split(w, me % 2, -me, &part));
    WIA_RUN(check_members(part, me % 2 ? std::vector{3, 1} : std::vector{2, 0}));
    WIA_OK(wia_communicator_split(w, me == 0 ? -1 : 7, 0, &none));
    WIA_CHECK((none == nullptr) == (me == 0));
    if (me != 0) WIA_RUN(check_members(none, {1, 2, 3}));
    return check_sum(w);  // rank 0 serves the meeting point: it stays until the others are done
  }));
}

TEST(S10, SixtyFourGroups) {
  expect_good(run_ranks(4, [](int me) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    const double began = seconds();
    for (int i = 0; i < 64; ++i) {
      wia_communicator_t* group = nullptr;
      const std::vector<int> members = i % 2    ? std::vector{3, 2, 1, 0}
                                       : me < 2 ? std::vector{0, 1}
                                                : std::vector{2, 3};
      WIA_RUN(make(w, members, &group));
      WIA_RUN(check_members(group, members));
    }
    if (me == 0) std::printf("64 groups in %.3f s\n", seconds() - began);
    return 0;
  }));
}

TEST(S10, WrongListsAreRefused) {
  expect_good(run_ranks(4, [](int) {
    wia_communicator_t *w = nullptr, *bad = nullptr;
    WIA_RUN(start(&w));
    const int twice[] = {0, 0, 1}, outside[] = {0, 9}, negative[] = {-1, 0};
    WIA_CHECK(wia_communicator_create(w, twice, 3, &bad) == WIA_ERROR_INVALID_ARGUMENT && says("0 twice"));
    WIA_CHECK(wia_communicator_create(w, outside, 2, &bad) == WIA_ERROR_INVALID_ARGUMENT);
    WIA_CHECK(says("9", "0 to 3"));
    WIA_CHECK(wia_communicator_create(w, negative, 2, &bad) == WIA_ERROR_INVALID_ARGUMENT && says("-1"));
    WIA_CHECK(wia_communicator_create(w, twice, 0, &bad) == WIA_ERROR_INVALID_ARGUMENT);
    WIA_CHECK(says("num_ranks is 0"));
    const int others[] = {(wia_rank(w) + 1) % 4};
    WIA_CHECK(wia_communicator_create(w, others, 1, &bad) == WIA_ERROR_INVALID_ARGUMENT);
    WIA_CHECK(says("only members call this") && !bad);
    WIA_CHECK(!wia_create_sub_communicator(w, twice, 3) && says("0 twice"));
    return check_sum(w);
  }));
}

TEST(S10, TheSameRankTwice) {
  Options options;
  options.ranks = {0, 1, 1};
  options.world_size = 3;
  const Results results = run_ranks(
      3,
      [](int) {
        setenv("WIA_INIT_TIMEOUT", "2", 1);
        wia_communicator_t* w = nullptr;
        const double began = seconds();
        const wia_status_t status = wia_init(&w);
        std::printf("%d after %.1f s: %s\n", status, seconds() - began, wia_last_error_message());
        return status == WIA_SUCCESS || seconds() - began > 2 + 5;
      },
      options);
  expect_good(results);
  EXPECT_NE(results[0].text.find("rank 2"), std::string::npos) << results[0].text;
  int refused = 0;  // one of the two with rank 1, at once, by name and host
  for (const size_t process : {1, 2}) {
    const std::string& text = results[process].text;
    if (text.find("holds") != std::string::npos || text.find("taken") != std::string::npos) {
      ++refused;
      EXPECT_NE(text.find("after 0."), std::string::npos) << text;
      EXPECT_NE(text.find("process"), std::string::npos) << text;
      EXPECT_NE(text.find("host"), std::string::npos) << text;
    } else {
      EXPECT_NE(text.find("rank 2"), std::string::npos) << text;
    }
  }
  EXPECT_EQ(refused, 1) << results[1].text << results[2].text;
}

}  // namespace
}  // namespace wia::field
