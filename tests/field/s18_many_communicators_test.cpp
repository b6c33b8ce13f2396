// Field case S18: communicators cost no descriptors, and leave nothing behind when they are destroyed.
#include <sys/resource.h>

#include <filesystem>

#include "field/data.hpp"
#include "sanitizers.hpp"

namespace wia::field {
namespace {

long entries_of(const char* folder) {
  long entries = 0;
  std::error_code ignored;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder, ignored)) ++entries;
  return entries;
}
long descriptors() { return entries_of("/proc/self/fd"); }
long threads() { return entries_of("/proc/self/task"); }

// The second line of statm: resident pages.
long resident_kib() {
  long size = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file || std::fscanf(file, "%ld %ld", &size, &resident) != 2) resident = 0;
  if (file) std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int limit_descriptors(rlim_t most) {
  const rlimit limit{most, most};
  return setrlimit(RLIMIT_NOFILE, &limit);
}

int use_many(int communicators) {
  wia_communicator_t* w = nullptr;
  WIA_RUN(start(&w, 20'000));
  std::vector<wia_communicator_t*> comms(static_cast<size_t>(communicators));
  for (auto*& comm : comms) WIA_OK(wia_communicator_duplicate(w, &comm));
  for (auto* comm : comms) WIA_RUN(check_sum(comm));
  for (auto* comm : comms) WIA_RUN(check_sum(comm));
  return 0;
}

TEST(S18, ManyAliveInManyStarts) {
  for (int i = 0; i < 10; ++i)
    expect_good(run_ranks(4, [](int) {
      WIA_CHECK(limit_descriptors(1024) == 0);
      return use_many(128);
    }));
}

// Over shared memory they cost none.
TEST(S18, FewDescriptors) {
  if (over().network()) GTEST_SKIP() << "see NoDescriptorsForAnother";
  expect_good(run_ranks(4, [](int) {
    WIA_CHECK(limit_descriptors(64) == 0);
    return use_many(128);
  }));
}

// Over a network every communicator has connections of its own. The one that gets none fails, and the older
// ones work.
TEST(S18, NoDescriptorsForAnother) {
  if (!over().network()) GTEST_SKIP() << "see FewDescriptors";
  const Results results = run_ranks(4, [](int) {
    WIA_CHECK(limit_descriptors(64) == 0);
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w, 20'000));
    std::vector<wia_communicator_t*> comms;
    for (int64_t good = 1; good == 1;) {
      WIA_CHECK(comms.size() < 64);
      comms.push_back(nullptr);
      const double began = seconds();
      WIA_OK(wia_communicator_duplicate(w, &comms.back()));
      WIA_OK(wia_communicator_set_timeout(comms.back(), 4'000));
      if (check_sum(comms.back())) good = 0;
      WIA_CHECK(seconds() - began < 4 + 5);
      WIA_OK(wia_all_reduce(&good, &good, 1, WIA_INT64, WIA_OP_MIN, w, nullptr));
    }
    WIA_OK(wia_communicator_destroy(comms.back()));
    comms.pop_back();
    WIA_CHECK(comms.size() > 2);
    for (auto* comm : comms) WIA_RUN(check_sum(comm));
    return check_sum(w);
  });
  expect_good(results);
  std::string texts;
  for (const RankResult& result : results) texts += result.text;
  EXPECT_NE(texts.find("all 64 file descriptors"), std::string::npos) << texts;
  EXPECT_NE(texts.find("ulimit -n"), std::string::npos) << texts;
}

TEST(S18, NoDescriptorsAtAll) {
  const Results results = run_ranks(2, [](int me) {
    WIA_CHECK(limit_descriptors(static_cast<rlim_t>(descriptors())) == 0);
    wia_communicator_t* w = nullptr;
    setenv("WIA_INIT_TIMEOUT", "2", 1);
    const double began = seconds();
    WIA_CHECK(wia_init(&w) < 0 && seconds() - began < 2 + 5);
    std::printf("%s\n", wia_last_error_message());
    WIA_CHECK(me == 1 || says("descriptors") || says("open files"));  // rank 1 only sees that rank 0 is gone
    return 0;
  });
  expect_good(results);
}

TEST(S18, NothingIsLeftOfTheDestroyed) {
  expect_good(run_ranks(
      4,
      [](int) {
        wia_communicator_t* w = nullptr;
        WIA_RUN(start(&w, 20'000));
        WIA_RUN(check_sum(w));  // this and the barrier open the connections that they need again at the end
        WIA_OK(wia_barrier(w));
        long fds = 0, tasks = 0, memory = 0;
        size_t shared = 0;
        for (int i = 0; i < 520; ++i) {
          wia_communicator_t* comm = nullptr;
          WIA_OK(wia_communicator_duplicate(w, &comm));
          WIA_RUN(check_sum(comm));
          if (i == 20) shared = wia_communicator_shared_bytes(comm);
          WIA_CHECK(wia_communicator_shared_bytes(comm) == shared || i <= 20);
          WIA_OK(wia_communicator_destroy(comm));
          if (i != 20) continue;
          fds = descriptors(), tasks = threads(), memory = resident_kib();
        }
        WIA_OK(wia_barrier(w));
        // The last connections are closed once their end has been acknowledged.
        for (const double began = seconds(); descriptors() > fds && seconds() - began < 5;) usleep(1000);
        const long more = resident_kib() - memory;
        std::printf("500 communicators: %ld KiB, %ld descriptors, %ld threads more\n", more,
                    descriptors() - fds, threads() - tasks);
        WIA_CHECK(descriptors() <= fds && threads() <= tasks);
        WIA_CHECK(more < 5 * 1024 || kMemoryIsWatched);  // sanitizers keep what is freed for a while
        return check_sum(w);
      },
      60));
}

}  // namespace
}  // namespace wia::field
