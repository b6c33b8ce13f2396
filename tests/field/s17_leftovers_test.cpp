// Field case S17: killed jobs leave nothing behind, nobody's leftovers are in the way, and a live job is not
// touched by others of the same user.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <set>

#include "field/data.hpp"

namespace wia::field {
namespace {

std::set<std::string> files_in(const char* folder) {
  std::set<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().filename().string().find("wia") != std::string::npos)
      names.insert(entry.path().string());
  return names;
}

unsigned long used_blocks(const char* folder) {
  struct statvfs info;
  return statvfs(folder, &info) == 0 ? info.f_blocks - info.f_bfree : 0;
}

int sum_for_ever(wia_communicator_t* w) {
  for (int i = 0;; ++i) {
    WIA_RUN(check_sum(w, 5000));
    if (i != 5) continue;
    std::puts("running");
    std::fflush(stdout);
  }
}

// One test at a time plants files and counts them.
class SharedPlaces {
 public:
  SharedPlaces() : file_(open("/tmp/field_s17.lock", O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    flock(file_, LOCK_EX);
  }
  ~SharedPlaces() { close(file_); }

 private:
  int file_;
};

TEST(S17, KilledJobsLeaveNothing) {
  const SharedPlaces alone;
  const auto in_shm = files_in("/dev/shm");
  const unsigned long used = used_blocks("/dev/shm");
  // A job that lives through all of it; rank 0 ends it.
  char folder[] = "/tmp/field_s17_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string stop = std::string(folder) + "/stop";
  Options long_lived;
  long_lived.limit_s = 60;
  Job live(
      2,
      [&](int me) {
        wia_communicator_t* w = nullptr;
        WIA_RUN(start(&w));
        for (int64_t ends = 0; ends == 0;) {
          WIA_RUN(check_sum(w, 5000));
          if (me == 0) ends = access(stop.c_str(), F_OK) == 0;
          WIA_OK(wia_broadcast_buffer(&ends, 1, WIA_INT64, 0, w, nullptr));
        }
        return 0;
      },
      long_lived);
  for (int i = 0; i < 20; ++i) {
    Job job(4, [&](int) {
      setenv("TMPDIR", folder, 1);
      wia_communicator_t* w = nullptr;
      WIA_RUN(start(&w));
      return sum_for_ever(w);
    });
    EXPECT_TRUE(job.shows(i % 4, "running"));
    job.kill_all();
    for (const RankResult& result : job.collect()) EXPECT_EQ(result.code, 128 + SIGKILL) << result.text;
  }
  EXPECT_EQ(files_in("/dev/shm"), in_shm);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_LE(used_blocks("/dev/shm"), used + 16);
  close(open(stop.c_str(), O_CREAT | O_WRONLY, 0600));
  expect_good(live.collect());
  std::filesystem::remove_all(folder);
}

// Files of the names that a library would choose, of another owner and of wrong sizes.
TEST(S17, OthersLeftoversAreNotInTheWay) {
  const SharedPlaces alone;
  std::vector<std::string> planted;
  for (const char* folder : {"/dev/shm/", "/tmp/"})
    for (const char* name : {"wia", "wia-heap", "wia-0", "wia-1"}) {
      const std::string path = std::string(folder) + name;
      const int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
      if (file < 0) continue;
      EXPECT_EQ(write(file, "x", 1), 1);
      if (getuid() == 0 && fchown(file, 65534, 65534) != 0) ADD_FAILURE() << path;
      close(file);
      planted.push_back(path);
    }
  expect_good(run_ranks(2, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    return check_sum(w, 5000);
  }));
  for (const std::string& path : planted) {
    EXPECT_EQ(std::filesystem::file_size(path), 1U) << path;
    unlink(path.c_str());
  }
}

}  // namespace
}  // namespace wia::field
