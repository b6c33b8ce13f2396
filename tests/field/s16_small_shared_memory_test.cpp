// Field case S16: /dev/shm may be small, full, read-only or missing: shared memory does not come from there.
// Needs to be root: each rank mounts a /dev/shm of its own.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>

#include "field/data.hpp"

namespace wia::field {
namespace {

int mount_own(const char* place, unsigned long flags, const char* options) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return errno;
  return mount("tmpfs", place, "tmpfs", flags, options) == 0 ? 0 : errno;
}

bool may_mount() {
  const Results tried = run_ranks(1, [](int) { return mount_own("/dev/shm", 0, "size=1m"); });
  return tried[0].code == 0;
}
#define SKIP_UNLESS_MOUNTS_ARE_ALLOWED() \
  if (!may_mount()) GTEST_SKIP() << "this process may not mount file systems (root, CAP_SYS_ADMIN)"

constexpr size_t kCount = size_t{2} << 20;  // 16 MB

struct Place {
  const char *name, *place;
  unsigned long flags;
  const char* options;
};
void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }

const Place kPlaces[] = {{"one_megabyte", "/dev/shm", 0, "size=1m"},
                         {"read_only", "/dev/shm", MS_RDONLY, ""},
                         {"missing", "/dev", 0, "size=64k"}};

class S16 : public testing::TestWithParam<Place> {};

TEST_P(S16, IsNotNeeded) {
  SKIP_UNLESS_MOUNTS_ARE_ALLOWED();
  const Place place = GetParam();
  expect_good(run_ranks(4, [&](int me) {
    WIA_CHECK(mount_own(place.place, place.flags, place.options) == 0);
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    WIA_RUN(check_sum(w, kCount));
    Buffer<> shared(kCount, true);
    shared.fill(me);
    WIA_OK(wia_all_reduce(shared.data(), shared.data(), kCount, WIA_INT64, WIA_OP_SUM, w, nullptr));
    for (size_t i = 0; i < kCount; ++i) WIA_CHECK(shared.get(i) == sum(4, i));
    WIA_CHECK(shared.intact());
    return 0;
  }));
}

INSTANTIATE_TEST_SUITE_P(Field, S16, testing::ValuesIn(kPlaces),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(S16Filled, AfterTheStart) {
  SKIP_UNLESS_MOUNTS_ARE_ALLOWED();
  expect_good(run_ranks(4, [](int) {
    WIA_CHECK(mount_own("/dev/shm", 0, "size=64m") == 0);
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    WIA_RUN(check_sum(w));
    const int file = open("/dev/shm/another", O_CREAT | O_WRONLY, 0600);
    std::vector<char> megabyte(size_t{1} << 20, 1);
    while (write(file, megabyte.data(), megabyte.size()) > 0) {
    }
    WIA_CHECK(errno == ENOSPC);
    close(file);
    WIA_RUN(check_sum(w, kCount));
    return 0;
  }));
}

TEST(S16Memory, MoreThanThereIsIsAnErrorWithBothSizes) {
  expect_good(run_ranks(2, [](int) {
    wia_communicator_t* w = nullptr;
    WIA_RUN(start(&w));
    const size_t bytes = size_t{1} << 45;
    WIA_CHECK(!wia_alloc(bytes) && wia_last_error() == WIA_ERROR_OUT_OF_MEMORY);
    WIA_CHECK(says("35184372088832 bytes", "are free"));
    return check_sum(w);
  }));
}

}  // namespace
}  // namespace wia::field
